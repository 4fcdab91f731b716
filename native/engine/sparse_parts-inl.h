// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams are cut at fixed places, see sparse_block.h: the sums of the parts between cuts, combined.
#pragma once

#include "engine/finish-inl.h"
#include "engine/sparse_block.h"

namespace acl_attn::engine {
namespace {

// Adds what a row saw after a cut to what it saw before.
inline void combine_parts(float* total, RowState& total_state, const float* part, const RowState& part_state, int dim) {
    RowState both;
    both.max = part_state.max > total_state.max ? part_state.max : total_state.max;
    both.headroom = part_state.headroom < total_state.headroom ? part_state.headroom : total_state.headroom;
    if (both.headroom > kPartsHeadroom) both.headroom = kPartsHeadroom;
    const float reference = both.max == -kInfinity ? 0.0f : both.max;
    const float before = exp_scalar(total_state.max - reference), after = exp_scalar(part_state.max - reference);
    both.sum = total_state.sum * before + part_state.sum * after;
    const vf before_factor = splat(before * (both.headroom / total_state.headroom));
    const vf after_factor = splat(after * (both.headroom / part_state.headroom));
    for (int d = 0; d < dim; d += kLanes) {
        const int n = dim - d;
        const vf kept = load_part<vf>(total + d, n) * before_factor;
        store_part(total + d, fma(load_part<vf>(part + d, n), after_factor, kept), n);
    }
    total_state = both;
}

void merge_sparse(const SparseMerge& block) {
    const int64_t rows = block.row_end - block.row_begin;
    for (int64_t i = 0; i < rows; i++) {
        float* total = block.partial_out + i * block.dim_v;
        RowState state = block.partial_state[i];
        for (int p = 1; p < block.parts; p++) {
            combine_parts(total, state, total + p * rows * block.dim_v, block.partial_state[p * rows + i], block.dim_v);
        }
        write_row(block.sink, block.row_begin + i, block.group, block.dim_v, total, state);
    }
}

}  // namespace
}  // namespace acl_attn::engine
