// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Brings the next tile's rows close, a few at a time between products, so that packing does not wait for memory.
#pragma once

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

class Ahead {
public:
    Ahead() = default;
    // Rows [begin, end) of two arrays of addresses, and how many bytes of each. `values` may be null.
    // `calls`: about how often advance() will be called.
    Ahead(const void* const* keys, int64_t key_bytes, const void* const* values, int64_t value_bytes, int begin, int end,
          int calls)
        : keys_(keys), values_(values), key_bytes_(key_bytes), value_bytes_(value_bytes), next_(begin), end_(end),
          step_((end - begin + calls - 1) / calls) {}

    __attribute__((always_inline)) void advance() {
        constexpr int line = 64;
        for (int stop = next_ + step_; next_ < stop && next_ < end_; next_++) {
            const char* k = static_cast<const char*>(keys_[next_]);
            for (int64_t d = 0; d < key_bytes_; d += line) prefetch_to_l2(k + d);
            if (values_ == nullptr) continue;
            const char* v = static_cast<const char*>(values_[next_]);
            for (int64_t d = 0; d < value_bytes_; d += line) prefetch_to_l2(v + d);
        }
    }

private:
    const void* const* keys_ = nullptr;
    const void* const* values_ = nullptr;
    int64_t key_bytes_ = 0, value_bytes_ = 0;
    int next_ = 0, end_ = 0, step_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
