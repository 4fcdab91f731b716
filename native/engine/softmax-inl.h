// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of the online softmax for one row: some more scores, and the running maximum and sum.
#pragma once

#include "engine/exp-inl.h"
#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// Scores of columns [from, to) become -infinity; `scores` is whole vectors.
inline void hide_columns(int from, int to, float* scores) {
    for (int c = round_down(from, kLanes); c < to; c += kLanes) {
        const vi column = lane_index() + c;
        store(scores + c, select((column >= from) & (column < to), splat(-kInfinity), load<vf>(scores + c)));
    }
}

// Replaces the scores that a row does not see by -infinity (replaces, not adds: a hidden NaN vanishes). scores[c] is of
// key first_key + c; columns [begin, end), multiples of kLanes, are looked at.
inline void hide_scores(const RowBlock& block, int64_t row, Interval seen, int64_t first_key, int begin, int end,
                        float* scores) {
    const TileColumns shown = columns_of(seen, first_key, begin, end);
    hide_columns(begin, shown.begin, scores);
    hide_columns(shown.end, end, scores);
    if (block.mask == nullptr) return;
    // Only bytes inside `shown` are read: others may lie outside the tensor.
    const uint8_t* mask = mask_row(block, row) + first_key;
    for (int c = round_down(shown.begin, kLanes); c < shown.end; c += kLanes) {
        const vb hidden = load_between<vb>(mask, c, shown.begin, shown.end);
        store(scores + c, select(extend(hidden) == 0, load<vf>(scores + c), splat(-kInfinity)));
    }
}

struct SoftmaxStep {
    float max;      // the new running maximum
    float rescale;  // what the row's sum and accumulators so far must be multiplied by
    float sum;      // of the new probabilities
};

// Of scores [begin, end); NaN takes no part.
inline float largest_score(const float* scores, int begin, int end) {
    // Two chains: one would wait for itself.
    vf top = splat(-kInfinity), other_top = top;
    int column = begin;
    for (; column + kLanes < end; column += 2 * kLanes) {
        top = max_number(load<vf>(scores + column), top);
        other_top = max_number(load<vf>(scores + column + kLanes), other_top);
    }
    if (column < end) top = max_number(load<vf>(scores + column), top);
    return reduce_max(max_number(top, other_top));
}

// Turns scores [begin, end) into exp(score - max) in place; top_now is the largest of them. The running maximum is
// -infinity before the first score; it stays so while all are hidden, and then every probability and the rescaling are
// 0, not NaN. NaN scores make the sum NaN.
inline SoftmaxStep softmax_step(float* scores, int begin, int end, float max_before, float top_now) {
    const float max_now = top_now > max_before ? top_now : max_before;
    const float reference = max_now == -kInfinity ? 0.0f : max_now;
    const vf shift = splat(reference);
    vf sum = {};
#pragma GCC unroll 2
    for (int c = begin; c < end; c += kLanes) {
        const vf p = exp_vector(load<vf>(scores + c) - shift);
        store(scores + c, p);
        sum += p;
    }
    // exp(0) is 1: the common case of an unchanged maximum needs no exponential.
    const float rescale = max_now == max_before && max_now != -kInfinity ? 1.0f : exp_scalar(max_before - reference);
    return {max_now, rescale, reduce_sum(sum)};
}
inline SoftmaxStep softmax_step(float* scores, int begin, int end, float max_before) {
    return softmax_step(scores, begin, end, max_before, largest_score(scores, begin, end));
}

}  // namespace
}  // namespace acl_attn::engine
