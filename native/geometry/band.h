// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which columns (keys) a row (query token) of a sequence may see, before a mask tensor is looked at.
#pragma once

#include <cstdint>
#include <limits>

#include "geometry/space.h"

namespace acl_attn::geometry {

// Row i (inside its sequence) sees columns j with i + first <= j <= i + last, clipped to [0, kv_len).
// The open ends are far outside any legal index, yet i + end cannot overflow.
inline constexpr int64_t kOpenFirst = std::numeric_limits<int64_t>::min() / 4;
inline constexpr int64_t kOpenLast = std::numeric_limits<int64_t>::max() / 4;
struct Band {
    int64_t first = kOpenFirst;
    int64_t last = kOpenLast;
};

enum class SparseMode : uint8_t {
    window = 0,      // the mask, and a window anchored at the first row and column
    all = 1,         // the mask alone
    causal_top = 2,  // first row on the first column
    causal = 3,      // last row on the last column
    band = 4,        // window anchored at the last row and column
};

// Tokens beyond 32 bits mean "no limit" to the operator.
constexpr int64_t clamp_tokens(int64_t tokens) {
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    return tokens > limit ? limit : tokens < -limit ? -limit : tokens;
}

// `has_mask`: without a mask tensor, SparseMode::window has no window. Lengths are those in use, never padded extents.
constexpr Band visible_band(SparseMode mode, bool has_mask, int64_t pre_tokens, int64_t next_tokens, int64_t q_len,
                            int64_t kv_len) {
    const int64_t pre = clamp_tokens(pre_tokens);
    const int64_t next = clamp_tokens(next_tokens);
    const int64_t shift = kv_len - q_len;  // lengths are not negative, so this cannot overflow
    constexpr int64_t open = std::numeric_limits<int32_t>::max();
    const int64_t first = pre == open ? kOpenFirst : -pre;
    const int64_t last = next == open ? kOpenLast : next;
    switch (mode) {
        case SparseMode::window: return has_mask ? Band{first, last} : Band{};
        case SparseMode::all: return {};
        case SparseMode::causal_top: return {kOpenFirst, 0};
        case SparseMode::causal: return {kOpenFirst, shift};
        case SparseMode::band:
            return {first == kOpenFirst ? first : shift + first, last == kOpenLast ? last : shift + last};
    }
    return {};
}

struct Columns {
    int64_t begin = 0;
    int64_t end = 0;  // not included; begin == end: none
};

// From the first column that first_row may see to the last that last_row may see: both ends grow with the row.
// begin >= end: none.
ACL_ATTN_GEOMETRY_SPACE constexpr Columns columns_between(const Band& band, int64_t first_row, int64_t last_row,
                                                          int64_t kv_len) {
    const int64_t begin = first_row + band.first;
    const int64_t last = last_row + band.last;
    return {begin > 0 ? begin : 0, last < kv_len - 1 ? last + 1 : kv_len};
}

ACL_ATTN_GEOMETRY_SPACE constexpr Columns visible_columns(const Band& band, int64_t row, int64_t kv_len) {
    const Columns seen = columns_between(band, row, row, kv_len);
    return seen.begin < seen.end ? seen : Columns{};
}

}  // namespace acl_attn::geometry
