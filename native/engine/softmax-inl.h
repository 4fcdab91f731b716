// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of the online softmax for one row: some more scores, and the running maximum and sum.
#pragma once

#include "engine/exp-inl.h"
#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// Replaces the scores that a row does not see by -infinity (replaces, not adds: a hidden NaN vanishes). scores[c] is of
// key first_key + c; columns [begin, end), multiples of kLanes, are looked at.
inline void hide_scores(const RowBlock& block, int64_t row, Interval seen, int64_t first_key, int begin, int end,
                        float* scores) {
    const int seen_begin = static_cast<int>(larger(seen.begin - first_key, begin));
    const int seen_end = static_cast<int>(smaller(seen.end - first_key, end));
    const uint8_t* mask = block.mask == nullptr ? nullptr : mask_row(block, row) + first_key;
    const vf hidden = splat(-kInfinity);
    for (int c = begin; c < end; c += kLanes) {
        const vi column = lane_index() + c;
        vi keep = (column >= seen_begin) & (column < seen_end);
        if (mask != nullptr && c < seen_end && c + kLanes > seen_begin) {
            // Only bytes inside [seen_begin, seen_end) are read: others may lie outside the tensor.
            vb bytes = {};
            if (c >= seen_begin) {
                bytes = load_part<vb>(mask + c, seen_end - c);
            } else {
                for (int i = seen_begin; i < c + kLanes && i < seen_end; i++) bytes[i - c] = mask[i];
            }
            keep &= __builtin_convertvector(bytes, vi) == 0;
        }
        store(scores + c, select(keep, load<vf>(scores + c), hidden));
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
