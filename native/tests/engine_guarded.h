// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace engine_test {

// An array that ends where readable memory ends, so that reading one element too far faults, whatever the instruction.
template <class T>
class Guarded {
public:
    Guarded() = default;
    Guarded(const Guarded&) = delete;
    ~Guarded() {
        if (memory_ != nullptr) munmap(memory_, mapped_);
    }

    void assign(size_t count, T value) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t bytes = count * sizeof(T);
        mapped_ = (bytes + page - 1) / page * page + page;
        memory_ = static_cast<char*>(
            mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (memory_ == MAP_FAILED || mprotect(memory_ + mapped_ - page, page, PROT_NONE) != 0) std::abort();
        data_ = reinterpret_cast<T*>(memory_ + mapped_ - page - bytes);
        count_ = count;
        std::fill_n(data_, count, value);
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return count_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    bool operator==(const Guarded& o) const { return count_ == o.count_ && std::equal(data_, data_ + count_, o.data_); }

private:
    char* memory_ = nullptr;
    size_t mapped_ = 0;
    T* data_ = nullptr;
    size_t count_ = 0;
};

}  // namespace engine_test
