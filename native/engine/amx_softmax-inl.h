// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax between two AMX products: raw scores in, probabilities as bf16 out, in one pass beside that for the maximum.
// It runs beside the products, whose instruction occupies one of the two vector multiply-add units: what counts is the
// number of floating-point operations, while those on integers are nearly free.
#pragma once

#include "engine/amx-inl.h"
#include "engine/exp-inl.h"

namespace acl_attn::engine {
namespace {

// exp(factor * score - reference), for results up to 1 (and rounding). Within 2 units in the last place of e^x for the
// argument as rounded; 0 below the smallest normal number; NaN stays NaN.
inline vf exp_of_score(vf score, vf factor, vf reference) {
    const vf x = fma(score, factor, -reference);
    const vf magic = splat(12582912.0f);  // as in exp_vector; one constant for ln 2 does, for results that are large
    const vf shifted = fma(x, splat(1.44269504f), magic);
    const vf n = shifted - magic;
    const vf r = fma(n, splat(-0.69314718f), x);
    // The minimax polynomial of degree 5 for e^r on +-ln(2)/2 with constant term 1: relative error 9e-8.
    vf p = splat(0x1.0fa80ep-7f);
    p = fma(p, r, splat(0x1.573a86p-5f));
    p = fma(p, r, splat(0x1.555a6cp-3f));
    p = fma(p, r, splat(0x1.fffdc4p-2f));
    p = fma(p, r, splat(0x1.fffff6p-1f));
    p = fma(p, r, splat(1.0f));
    return scale_or_vanish(p, n, shifted, x);
}

// Two vectors of numbers as pairs of bf16, the first ones in the lower halves: rounded, or cut where what that leaves
// is kept as well.
inline vu pair_of(vu first, vu second) { return (first >> 16) | (second & 0xffff0000u); }
inline vu rounded(vf x) { return reinterpret_cast<vu>(x) + 0x8000u; }  // a NaN may vanish, but not its row's sum
inline vf upper(vu x) { return reinterpret_cast<vf>(x & 0xffff0000u); }

// Turns scores [column, column + kAmxDepth) of a row into two rows of pairs in their place: probabilities, and what
// rounding them left. Element j holds keys j and j + 16. Adds to `sum`; lane j is of keys j and j + kLanes and so on.
// kExact: the second parts are rounded, too, and all used. kScaled: `scale` is multiplied after the sum.
template <bool kExact, bool kScaled>
inline void weigh_pairs(float* scores, bool has_rest, vf factor, vf reference, vf scale, vf& sum) {
    for (int j = 0; j < kAmxColumns; j += kLanes) {
        vf first = exp_of_score(load<vf>(scores + j), factor, reference);
        vf second = exp_of_score(load<vf>(scores + kAmxColumns + j), factor, reference);
        sum += first;
        sum += second;
        if constexpr (kScaled) {
            first *= scale;
            second *= scale;
        }
        vu first_code, second_code;
        if (kExact || !has_rest) {
            first_code = rounded(first);
            second_code = rounded(second);
        } else {
            first_code = reinterpret_cast<vu>(first);
            second_code = reinterpret_cast<vu>(second);
        }
        store(scores + j, pair_of(first_code, second_code));
        if (!kExact && !has_rest) continue;
        const vf first_rest = first - upper(first_code), second_rest = second - upper(second_code);
        if constexpr (kExact) {
            store(scores + kAmxColumns + j, pair_of(rounded(first_rest), rounded(second_rest)));
        } else {
            store(scores + kAmxColumns + j,
                  pair_of(reinterpret_cast<vu>(first_rest), reinterpret_cast<vu>(second_rest)));
        }
    }
}

}  // namespace
}  // namespace acl_attn::engine
