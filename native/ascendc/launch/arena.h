// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace acl_attn::ascendc {

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Takes pieces of the workspace, or counts them where there is none yet.
class Arena {
public:
    static constexpr uintptr_t kAlignment = 512;  // of what Fixpipe writes

    explicit Arena(void* memory)
        : start_(memory == nullptr ? nullptr
                                   : static_cast<char*>(memory) + (aligned(address(memory)) - address(memory))) {}

    template <class T>
    T* take(int64_t count) {
        const uintptr_t at = used_;
        used_ = aligned(used_ + static_cast<uintptr_t>(count) * sizeof(T));
        return start_ == nullptr ? nullptr : reinterpret_cast<T*>(start_ + at);
    }
    size_t used() const { return used_; }
    size_t bytes() const { return used_ + kAlignment; }  // whatever the address's alignment

private:
    static uintptr_t aligned(uintptr_t x) { return (x + kAlignment - 1) / kAlignment * kAlignment; }

    char* start_;
    uintptr_t used_ = 0;
};

}  // namespace acl_attn::ascendc
