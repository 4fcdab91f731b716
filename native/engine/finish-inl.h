// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a row: normalising, rounding, LSE; and the combination of a row's partials.
#pragma once

#include "engine/exp-inl.h"
#include "engine/rows-inl.h"
#include "formats/round-inl.h"

namespace acl_attn::engine {
namespace {

inline vf widen_number(Dtype dtype, const char* numbers, int64_t index, int n) {
    if (dtype == Dtype::f32) return load_part<vf>(reinterpret_cast<const float*>(numbers) + index, n);
    return widen_part(dtype, reinterpret_cast<const uint16_t*>(numbers) + index, n);
}

// The post-quantised numbers of channels d .. d + n - 1, before rounding.
inline vf post_quantise(const RowSink& sink, int64_t head, int dim_v, int d, int n, vf value) {
    const auto numbers = [&](const char* from) {
        if (sink.out_scale_stride == 0) return splat(widen_number(sink.out_scale_dtype, from, 0, 1)[0]);
        return widen_number(sink.out_scale_dtype, from, (sink.first_head + head) * dim_v + d, n);
    };
    value *= numbers(sink.out_scale);
    return sink.out_offset == nullptr ? value : value + numbers(sink.out_offset);
}

// Lets a learnable sink join the row's keys: the state that results, and in `weight` what the accumulators must be
// multiplied by. A row that saw no key has no sink either.
inline RowState join_sink(const RowSink& sink, int64_t head, RowState state, float& weight) {
    weight = 1.0f;
    if (sink.sinks == nullptr || state.sum == 0.0f) return state;
    const char* logits = static_cast<const char*>(sink.sinks);
    const float logit = widen_number(sink.sinks_dtype, logits, sink.first_head + head, 1)[0];
    if (!(logit > state.max)) {  // NaN comes this way too, and makes the sum NaN
        state.sum += exp_scalar(logit - state.max);
        return state;
    }
    weight = exp_scalar(state.max - logit);
    state.sum = state.sum * weight + 1.0f;
    state.max = logit;
    return state;
}

inline void store_quantised(Dtype dtype, uint8_t* out, vf value, int n) {
    switch (dtype) {
        case Dtype::i8: return store_part(out, narrow(I8{}, value), n);
        case Dtype::f8_e4m3: return store_part(out, narrow(E4M3{}, value), n);
        default: return store_part(out, narrow(HiFloat8Hybrid{}, value), n);
    }
}

// What a row's accumulators stand for. Adding +0 makes the sign of a zero independent of how many invisible keys
// contributed a zero.
inline vf scaled(vf acc, float factor) { return acc * splat(factor) + splat(0.0f); }

// Not inlined: a loop by itself keeps its constants in registers.
template <class T>
__attribute__((noinline)) void store_scaled(const float* acc, float factor, int count, uint16_t* out) {
    int d = 0;
    for (; d + kLanes <= count; d += kLanes) store(out + d, narrow(T{}, scaled(load<vf>(acc + d), factor)));
    if (d < count) store_narrow_part<T>(out + d, scaled(load_part<vf>(acc + d, count - d), factor), count - d);
}

// Writes accumulators * factor; `empty`: of a row that saw no key, with factor 0.
inline void store_row(const RowSink& sink, int64_t token, int64_t head, int dim_v, const float* acc, float factor,
                      bool empty) {
    char* out = sink.out + token * sink.out_token_stride + head * sink.out_head_stride;
    if (sink.out_dtype == Dtype::f16) return store_scaled<F16>(acc, factor, dim_v, reinterpret_cast<uint16_t*>(out));
    if (sink.out_dtype == Dtype::bf16) return store_scaled<BF16>(acc, factor, dim_v, reinterpret_cast<uint16_t*>(out));
    for (int d = 0; d < dim_v; d += kLanes) {
        const int n = dim_v - d;
        vf value = scaled(load_part<vf>(acc + d, n), factor);
        if (sink.out_scale != nullptr && !empty) value = post_quantise(sink, head, dim_v, d, n, value);
        store_quantised(sink.out_dtype, reinterpret_cast<uint8_t*>(out) + d, value, n);
    }
}

inline void store_lse(const RowSink& sink, int64_t token, int64_t head, const RowState& state) {
    if (sink.lse == nullptr) return;
    const double lse = static_cast<double>(state.max) + __builtin_log(static_cast<double>(state.sum));
    sink.lse[token * sink.lse_token_stride + head * sink.lse_head_stride] =
        state.sum == 0.0f ? sink.empty_lse : static_cast<float>(lse);
}

// Writes a row whose accumulators hold headroom * sum(exp(score - max) * value). A row that saw no key has sum 0.
inline void write_row(const RowSink& sink, int64_t row, int group, int dim_v, const float* acc, const RowState& seen) {
    const int64_t token = row / group, head = row % group;
    const bool empty = seen.sum == 0.0f;
    float weight;
    const RowState state = join_sink(sink, head, seen, weight);
    store_row(sink, token, head, dim_v, acc, empty ? 0.0f : weight / state.headroom / state.sum, empty);
    store_lse(sink, token, head, state);
}

// The sink of one of several KV heads.
inline RowSink sink_of_head(RowSink sink, int kv_head, int group) {
    sink.out += kv_head * group * sink.out_head_stride;
    sink.first_head += kv_head * group;
    if (sink.lse != nullptr) sink.lse += kv_head * group * sink.lse_head_stride;
    return sink;
}

// Hands on a block's row: final, or as a partial.
inline void finish_row(const RowBlock& block, int kv_head, int64_t row, const float* acc, const RowState& state) {
    if (block.sink.partial_out == nullptr) {
        write_row(sink_of_head(block.sink, kv_head, block.group), row, block.group, block.dim_v, acc, state);
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

// On sums of parts, each of which is finite by itself, where no huge value has given one yet. A power of 2: it rounds
// nothing that an output could tell from 0.
constexpr float kPartsHeadroom = 0x1p-12f;

inline void merge_partials(const MergeBlock& block) {
    const int64_t head_rows = block.row_end - block.row_begin;
    const int64_t rows = block.kv_heads * head_rows;
    for (int64_t index = 0; index < rows; index++) {
        RowState total = {-kInfinity, 0.0f, kPartsHeadroom};
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
        write_row(sink, block.row_begin + index % head_rows, block.group, block.dim_v, acc, total);
    }
}

}  // namespace
}  // namespace acl_attn::engine
