// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What is added to scaled scores.
#pragma once

#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

inline vf square_root(vf x) {
#if defined(__AVX512F__)
    return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
    return _mm256_sqrt_ps(x);
#elif defined(__SSE2__)
    return _mm_sqrt_ps(x);
#elif defined(__aarch64__)
    return vsqrtq_f32(x);
#else
    for (int i = 0; i < kLanes; i++) x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

// Elements [c, c + kLanes) of a row of the bias tensor, those outside [begin, end) unread and 0.
inline vf load_bias(Dtype dtype, const uint16_t* row, int c, int begin, int end) {
    if (c >= begin) return widen_part(dtype, row + c, end - c);
    uint16_t codes[kLanes] = {};
    for (int i = begin; i < c + kLanes && i < end; i++) codes[i - c] = row[i];
    return widen_part(dtype, codes, kLanes);
}

// Of the bias tensor, the row of a query head's token, from key 0 on.
inline const uint16_t* bias_row(const RowBlock& block, int64_t head, int64_t token) {
    return reinterpret_cast<const uint16_t*>(block.bias.base + head * block.bias.head_stride +
                                             token * block.bias.row_stride);
}

// scores[c] is of key first_key + c, for columns [begin, end), multiples of kLanes. Only biases of keys inside `seen`
// are read, and added.
inline void add_bias(const RowBlock& block, int kv_head, int64_t row, Interval seen, int64_t first_key, int begin,
                     int end, float* scores) {
    const BiasView& bias = block.bias;
    const int seen_begin = static_cast<int>(larger(seen.begin - first_key, begin));
    const int seen_end = static_cast<int>(smaller(seen.end - first_key, end));
    if (seen_begin >= seen_end) return;
    const int64_t token = row / block.group;
    const int64_t head = block.sink.first_head + query_head(block, kv_head, row);
    const int first = round_down(seen_begin, kLanes);
    if (bias.kind == BiasKind::tensor) {
        const uint16_t* from = bias_row(block, head, token) + first_key;
        for (int c = first; c < seen_end; c += kLanes) {
            const vf x = load_bias(block.sink.query_dtype, from, c, seen_begin, seen_end);
            store(scores + c, load<vf>(scores + c) + x);
        }
        return;
    }
    const vf slope = splat(bias.slopes[head]);
    const int32_t start = static_cast<int32_t>(first_key - token + bias.distance);
    for (int c = first; c < seen_end; c += kLanes) {
        const vf signed_distance = __builtin_convertvector(lane_index() + (start + c), vf);
        vf distance = as_float(as_int(signed_distance) & 0x7fffffff);
        if (bias.kind == BiasKind::slope_sqrt) distance = square_root(distance);
        store(scores + c, load<vf>(scores + c) - slope * distance);
    }
}

}  // namespace
}  // namespace acl_attn::engine
