// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory that the program can't touch: an address is that of real memory with a bit set that no address of a
// program has, so that whoever reads through it faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace standin {

class DeviceMemory {
public:
    static constexpr uintptr_t kTag = uintptr_t{1} << 62;

    static bool is_device(const void* address) { return (number(address) & kTag) != 0; }

    // Addresses of which only one thing is known, that nobody may use them: multiples of 2^46.
    static bool is_placeholder(const void* address) { return (number(address) & ((uintptr_t{1} << 46) - 1)) == 0; }

    void* publish(void* real, size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        live_[number(real)] = bytes;
        return reinterpret_cast<void*>(number(real) | kTag);
    }

    // The real address; null unless it is one of live device memory.
    void* find(const void* address) {
        if (!is_device(address)) return nullptr;
        const uintptr_t real = number(address) & ~kTag;
        const std::lock_guard<std::mutex> lock(mutex_);
        auto after = live_.upper_bound(real);
        if (after == live_.begin()) return nullptr;
        const auto& [begin, bytes] = *--after;
        return real < begin + bytes ? reinterpret_cast<void*>(real) : nullptr;
    }

    // The real address of an allocation, which is forgotten; null unless it is one's beginning.
    void* withdraw(const void* address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const uintptr_t real = number(address) & ~kTag;
        return is_device(address) && live_.erase(real) != 0 ? reinterpret_cast<void*>(real) : nullptr;
    }

    template <typename Visit>
    void each(Visit visit) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [real, bytes] : live_) visit(reinterpret_cast<void*>(real), bytes);
    }

private:
    static uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

    std::mutex mutex_;
    std::map<uintptr_t, size_t> live_;
};

}  // namespace standin
