// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a row: normalising, rounding, LSE; and the combination of a row's partials.
#pragma once

#include "engine/exp-inl.h"
#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// Writes a row whose accumulators hold headroom * sum(exp(score - max) * value). A row that saw no key has sum 0.
template <class T>
inline void write_row(const RowSink& sink, int64_t row, int group, int dim_v, const float* acc, const RowState& state) {
    const int64_t token = row / group, head = row % group;
    uint16_t* out = sink.out + token * sink.out_token_stride + head * sink.out_head_stride;
    const bool empty = state.sum == 0.0f;
    const vf factor = splat(empty ? 0.0f : 1.0f / state.headroom / state.sum);
    for (int d = 0; d < dim_v; d += kLanes) {
        // Adding +0 makes the sign of a zero independent of how many invisible keys contributed a zero.
        const vf value = load_part<vf>(acc + d, dim_v - d) * factor + splat(0.0f);
        store_narrow_part<T>(out + d, value, dim_v - d);
    }
    if (sink.lse != nullptr) {
        const double lse = static_cast<double>(state.max) + __builtin_log(static_cast<double>(state.sum));
        sink.lse[token * sink.lse_token_stride + head * sink.lse_head_stride] =
            empty ? kInfinity : static_cast<float>(lse);
    }
}

// The sink of one of several KV heads.
inline RowSink sink_of_head(RowSink sink, int kv_head, int group) {
    sink.out += kv_head * group * sink.out_head_stride;
    if (sink.lse != nullptr) sink.lse += kv_head * group * sink.lse_head_stride;
    return sink;
}

// Hands on a block's row: final, or as a partial.
template <class T>
inline void finish_row(const RowBlock& block, int kv_head, int64_t row, const float* acc, const RowState& state) {
    if (block.sink.partial_out == nullptr) {
        write_row<T>(sink_of_head(block.sink, kv_head, block.group), row, block.group, block.dim_v, acc, state);
        return;
    }
    const int64_t index = kv_head * (block.row_end - block.row_begin) + row - block.row_begin;
    float* to = block.sink.partial_out + index * block.dim_v;
    for (int d = 0; d < block.dim_v; d += kLanes) {
        const int n = block.dim_v - d;
        store_part(to + d, load_part<vf>(acc + d, n), n);
    }
    block.sink.partial_state[index] = state;
}

template <class T>
void merge_partials(const MergeBlock& block) {
    const int64_t head_rows = block.row_end - block.row_begin;
    const int64_t rows = block.kv_heads * head_rows;
    for (int64_t index = 0; index < rows; index++) {
        RowState total = {-kInfinity, 0.0f, 1.0f};
        for (int s = 0; s < block.splits; s++) {
            const RowState& part = block.partial_state[s * rows + index];
            if (part.max > total.max) total.max = part.max;
            if (part.headroom < total.headroom) total.headroom = part.headroom;
        }
        const float reference = total.max == -kInfinity ? 0.0f : total.max;
        float* acc = block.partial_out + index * block.dim_v;
        for (int s = 0; s < block.splits; s++) {
            const RowState& part = block.partial_state[s * rows + index];
            const float weight = exp_scalar(part.max - reference);
            total.sum += weight * part.sum;
            const vf factor = splat(weight * (total.headroom / part.headroom));
            const float* from = acc + s * rows * block.dim_v;
            for (int d = 0; d < block.dim_v; d += kLanes) {
                const int n = block.dim_v - d;
                const vf value = load_part<vf>(from + d, n);
                store_part(acc + d, s == 0 ? value * factor : fma(value, factor, load_part<vf>(acc + d, n)), n);
            }
        }
        const RowSink sink = sink_of_head(block.sink, static_cast<int>(index / head_rows), block.group);
        write_row<T>(sink, block.row_begin + index % head_rows, block.group, block.dim_v, acc, total);
    }
}

}  // namespace
}  // namespace acl_attn::engine
