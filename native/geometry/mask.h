// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of a dense mask lie: (rows, columns), (batches, rows, columns) or (batches, 1, rows, columns).
#pragma once

#include <cstdint>

namespace acl_attn::geometry {

struct MaskExtents {
    int64_t batches = 1;  // 1: one mask for all sequences
    int64_t rows = 0;
    int64_t columns = 0;
};

// `rank` is 2, 3 or 4.
constexpr MaskExtents mask_extents(int rank, const int64_t* shape) {
    return {rank == 2 ? 1 : shape[0], shape[rank - 2], shape[rank - 1]};
}

// Row i, column j of sequence b lies at mask_origin(b) + i * columns + j: masks wider or higher than needed are fine.
constexpr int64_t mask_origin(const MaskExtents& e, int64_t b) {
    return e.batches == 1 ? 0 : b * e.rows * e.columns;
}

}  // namespace acl_attn::geometry
