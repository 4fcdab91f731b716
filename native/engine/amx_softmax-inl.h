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

constexpr float kExp2Underflow = -126.0f;  // below, the result would be subnormal
constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.69314718f;

// Four numbers' vectors at a time, stage by stage: one chain alone is too slow, and the processor does not look far
// enough ahead to find the others.
struct Four {
    vf v[4];
};
template <class Stage>
__attribute__((always_inline)) inline Four each(Stage stage) {
    return {{stage(0), stage(1), stage(2), stage(3)}};
}

inline vf floor_of(vf x) {
    const vf magic = splat(12582912.0f);  // as in exp_vector
    const vf nearest = (x + magic) - magic;
    return select(nearest > x, nearest - 1.0f, nearest);
}

// x - floor(x); of what vanishes anyway, anything but NaN.
inline vf fraction_of(vf x) {
#if defined(__AVX512DQ__)
    return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    return select(x < splat(kExp2Underflow), vf{}, x - floor_of(x));
#endif
}

// p * 2^floor(x) for p from 1 to 2, 0 below the smallest normal number, NaN where x is.
inline vf scale_by_floor(vf p, vf x) {
#if defined(__AVX512F__)
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, splat(kExp2Underflow), _CMP_NLT_UQ), p, x);
#else
    const vi vanishes = x < splat(kExp2Underflow);
    const vf kept = select(vanishes | (x != x), vf{}, floor_of(x));
    const vi scaled = as_int(p) + (__builtin_convertvector(kept, vi) << 23);
    return select(x != x, x, as_float(scaled & ~vanishes));
#endif
}

// 2^(factor * score - reference), for results up to 1 (and rounding), with a relative error of 2e-7 for the exponent as
// rounded; exactly 1 for 0.
__attribute__((always_inline)) inline Four exp2_of_scores(const Four& score, const Four& factor,
                                                          const Four& reference) {
    const Four x = each([&](int i) { return fma(score.v[i], factor.v[i], -reference.v[i]); });
    const Four f = each([&](int i) { return fraction_of(x.v[i]); });
    // The minimax polynomial of degree 5 for 2^f on [0, 1] with constant term 1: relative error 8e-8.
    Four p = each([&](int i) { return fma(splat(0x1.e974fcp-10f), f.v[i], splat(0x1.277854p-7f)); });
    p = each([&](int i) { return fma(p.v[i], f.v[i], splat(0x1.c91ce6p-5f)); });
    p = each([&](int i) { return fma(p.v[i], f.v[i], splat(0x1.ebdb56p-3f)); });
    p = each([&](int i) { return fma(p.v[i], f.v[i], splat(0x1.62e4bap-1f)); });
    p = each([&](int i) { return fma(p.v[i], f.v[i], splat(1.0f)); });
    return each([&](int i) { return scale_by_floor(p.v[i], x.v[i]); });
}

// The upper halves of two vectors of numbers, which are bf16, as pairs; the first vector's in the lower halves.
inline vu pair_of(vu first, vu second) {
#if defined(__AVX512BW__)
    const __m512i lower = reinterpret_cast<__m512i>(first >> 16);
    return reinterpret_cast<vu>(_mm512_mask_mov_epi16(lower, 0xaaaaaaaau, reinterpret_cast<__m512i>(second)));
#else
    return (first >> 16) | (second & 0xffff0000u);
#endif
}
inline vu rounded(vf x) { return reinterpret_cast<vu>(x) + 0x8000u; }  // a NaN may vanish, but not its row's sum
inline vf upper(vu x) { return reinterpret_cast<vf>(x & 0xffff0000u); }

// In powers of 2. A million of the largest values (exceptional-inl.h) whose weights are larger by so much do not
// overflow.
constexpr float kReferenceLag = 4.0f;

// What rows count their scores from, when the largest so far are `now` and it was `before`: it stays while no score is
// far above it, so that what rows have summed is rarely multiplied.
inline vf kept_reference(vf before, vf now) { return select(now <= before + kReferenceLag, before, now); }

struct ScoreRow {
    float* scores;
    vf factor, reference, scale, sum;
};

// Turns scores [column, column + kAmxDepth) of two rows into two rows of pairs each in their place: probabilities, and
// what that left. Element j holds keys j and j + 16. Adds to the sums. After that probabilities are multiplied by the
// row's `scale` if kScaled, by `values` of their columns if kWeighted. kExact: parts are rounded, not cut.
template <bool kExact, bool kScaled, bool kWeighted>
__attribute__((always_inline)) inline void weigh_pairs(ScoreRow* row, const float* values, int column) {
    for (int j = column; j < column + kAmxColumns; j += kLanes) {
        const auto at = [&](int i) { return row[i / 2].scores + j + i % 2 * kAmxColumns; };
        Four p = exp2_of_scores(each([&](int i) { return load<vf>(at(i)); }),
                                each([&](int i) { return row[i / 2].factor; }),
                                each([&](int i) { return row[i / 2].reference; }));
        for (int i = 0; i < 4; i++) row[i / 2].sum += p.v[i];
        if constexpr (kScaled) p = each([&](int i) { return p.v[i] * row[i / 2].scale; });
        if constexpr (kWeighted) p = each([&](int i) { return p.v[i] * load<vf>(values + j + i % 2 * kAmxColumns); });
        vu code[4];
        for (int i = 0; i < 4; i++) code[i] = kExact ? rounded(p.v[i]) : reinterpret_cast<vu>(p.v[i]);
        store(at(0), pair_of(code[0], code[1]));
        store(at(2), pair_of(code[2], code[3]));
        vu rest[4];
        for (int i = 0; i < 4; i++) {
            const vf left = p.v[i] - upper(code[i]);
            rest[i] = kExact ? rounded(left) : reinterpret_cast<vu>(left);
        }
        store(at(1), pair_of(rest[0], rest[1]));
        store(at(3), pair_of(rest[2], rest[3]));
    }
}

}  // namespace
}  // namespace acl_attn::engine
