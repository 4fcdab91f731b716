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
    const int seen_begin = static_cast<int>(smaller(larger(seen.begin - first_key, begin), end));
    const int seen_end = static_cast<int>(larger(smaller(seen.end - first_key, end), seen_begin));
    hide_columns(begin, seen_begin, scores);
    hide_columns(seen_end, end, scores);
    if (block.mask == nullptr) return;
    // Only bytes inside [seen_begin, seen_end) are read: others may lie outside the tensor.
    const uint8_t* mask = mask_row(block, row) + first_key;
    for (int c = round_down(seen_begin, kLanes); c < seen_end; c += kLanes) {
        const vb hidden = load_between<vb>(mask, c, seen_begin, seen_end);
        store(scores + c, select(extend(hidden) == 0, load<vf>(scores + c), splat(-kInfinity)));
    }
}

struct SoftmaxStep {
    float max;      // the new running maximum
    float rescale;  // what the row's sum and accumulators so far must be multiplied by
    float sum;      // of the new probabilities
};

// Turns scores [begin, end) into exp(score - max) in place. The running maximum is -infinity before the first score; it
// stays so while all are hidden, and then every probability and the rescaling are 0, not NaN. NaN scores do not
// take part in the maximum but make the sum NaN.
inline SoftmaxStep softmax_step(float* scores, int begin, int end, float max_before) {
    vf top = splat(-kInfinity);
    for (int c = begin; c < end; c += kLanes) top = max_number(load<vf>(scores + c), top);
    const float top_now = reduce_max(top);
    const float max_now = top_now > max_before ? top_now : max_before;
    const float reference = max_now == -kInfinity ? 0.0f : max_now;
    const vf shift = splat(reference);
    vf sum = {};
    for (int c = begin; c < end; c += kLanes) {
        const vf p = exp_vector(load<vf>(scores + c) - shift);
        store(scores + c, p);
        sum += p;
    }
    // exp(0) is 1: the common case of an unchanged maximum needs no exponential.
    const float rescale = max_now == max_before && max_now != -kInfinity ? 1.0f : exp_scalar(max_before - reference);
    return {max_now, rescale, reduce_sum(sum)};
}

}  // namespace
}  // namespace acl_attn::engine
