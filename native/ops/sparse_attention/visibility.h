// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators' mask modes as what the engine and the planner work with.
#pragma once

#include <cstdint>

#include "geometry/band.h"

namespace acl_attn::ops::sparse {

inline constexpr int64_t kNoMask = 0;
inline constexpr int64_t kCausalMask = 3;  // last query on the last token
inline constexpr int64_t kBandMask = 4;    // a window that moves along

// Which original tokens query row i sees. Windows of -1 have no end.
inline geometry::Band original_band(int64_t mask_mode, int64_t left, int64_t right, int64_t q_len, int64_t ori_len) {
    const auto open = [](int64_t tokens) { return tokens < 0 ? int64_t{INT32_MAX} : tokens; };
    const auto mode = mask_mode == kBandMask     ? geometry::SparseMode::band
                      : mask_mode == kCausalMask ? geometry::SparseMode::causal
                                                 : geometry::SparseMode::all;
    return geometry::visible_band(mode, true, open(left), open(right), q_len, ori_len);
}

// Query row i sees the compressed rows whose original tokens are all at or before its own position: as many as
// floor((i + shift) / ratio), where the compressed stream stands for `stands_for` original tokens.
constexpr int64_t compressed_shift(int64_t stands_for, int64_t q_len) { return stands_for - q_len + 1; }

}  // namespace acl_attn::ops::sparse
