// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Brings the next tile's rows close, a few cache lines at a time between products, so that packing does not wait for
// memory. Evenly: more requests at once than the core can keep open would stall the products.
#pragma once

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

class Ahead {
public:
    Ahead() = default;
    // Rows [begin, end) of two arrays of addresses, and how many bytes of each. `values` may be null.
    Ahead(const void* const* keys, int64_t key_bytes, const void* const* values, int64_t value_bytes, int begin,
          int end)
        : rows_(keys + begin), values_(values == nullptr ? nullptr : values + begin), count_(end - begin),
          values_count_(values == nullptr ? 0 : count_), bytes_(key_bytes), value_bytes_(value_bytes) {}

    // About how often advance() will be called.
    void spread(int calls) {
        const int64_t lines = lines_of(bytes_) * count_ + lines_of(value_bytes_) * values_count_;
        lines_ = static_cast<int>((lines + calls - 1) / (calls > 0 ? calls : 1));
    }

    __attribute__((always_inline)) void advance() {
        for (int n = lines_; n > 0 && row_ < count_; n--) {
            prefetch_to_l2(static_cast<const char*>(rows_[row_]) + byte_);
            byte_ += kLine;
            if (byte_ < bytes_) continue;
            byte_ = 0;
            if (++row_ < count_ || values_count_ == 0) continue;
            rows_ = values_;  // now the other array
            row_ = values_count_ = 0;
            bytes_ = value_bytes_;
        }
    }

private:
    static constexpr int64_t kLine = 64;
    static int64_t lines_of(int64_t bytes) { return (bytes + kLine - 1) / kLine; }

    const void* const* rows_ = nullptr;
    const void* const* values_ = nullptr;
    int count_ = 0, values_count_ = 0;
    int64_t bytes_ = 0, value_bytes_ = 0;
    int row_ = 0, lines_ = 0;
    int64_t byte_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
