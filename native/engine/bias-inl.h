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

// What is added to the scores of one query row, of which column c is key first_key + c.
struct RowBias {
    const uint16_t* numbers = nullptr;  // of column 0; null: there is no tensor, but a slope
    float slope = 0.0f;
    int32_t start = 0;     // distance of column 0
    bool is_root = false;  // of the distance

    RowBias() = default;
    explicit RowBias(const uint16_t* row) : numbers(row) {}
    RowBias(const RowBlock& block, int kv_head, int64_t row, int64_t first_key) {
        const BiasView& bias = block.bias;
        const int64_t token = row / block.group;
        const int64_t head = block.sink.first_head + query_head(block, kv_head, row);
        if (bias.kind == BiasKind::tensor) {
            numbers = reinterpret_cast<const uint16_t*>(bias.base + head * bias.head_stride + token * bias.row_stride);
            numbers += first_key;
        } else if (bias.kind != BiasKind::none) {
            slope = bias.slopes[head];
            start = static_cast<int32_t>(first_key - token + bias.distance);
            is_root = bias.kind == BiasKind::slope_sqrt;
        }
    }

    // Of columns [c, c + kLanes); a tensor's numbers outside [begin, end) unread and 0.
    template <class T>
    vf at(int c, int begin, int end) const {
        return numbers != nullptr ? number_at<T>(c, begin, end) : slope_at(c);
    }
    template <class T>
    vf number_at(int c, int begin, int end) const { return widen(T{}, load_between<vh>(numbers, c, begin, end)); }
    vf slope_at(int c) const {
        const vf signed_distance = __builtin_convertvector(lane_index() + (start + c), vf);
        const vf distance = as_float(as_int(signed_distance) & 0x7fffffff);
        return -(splat(slope) * (is_root ? square_root(distance) : distance));
    }
};

// scores[c] is of key first_key + c, for columns [begin, end), multiples of kLanes. Only biases of keys inside `seen`
// are read, and added.
inline void add_bias(const RowBlock& block, int kv_head, int64_t row, Interval seen, int64_t first_key, int begin,
                     int end, float* scores) {
    const TileColumns shown = columns_of(seen, first_key, begin, end);
    if (shown.begin == shown.end) return;
    const RowBias bias(block, kv_head, row, first_key);
    const bool is_f16 = block.sink.query_dtype == Dtype::f16;
    for (int c = round_down(shown.begin, kLanes); c < shown.end; c += kLanes) {
        const vf x = is_f16 ? bias.at<F16>(c, shown.begin, shown.end) : bias.at<BF16>(c, shown.begin, shown.end);
        store(scores + c, load<vf>(scores + c) + x);
    }
}

}  // namespace
}  // namespace acl_attn::engine
