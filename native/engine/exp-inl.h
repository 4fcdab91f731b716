// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// exp for softmax arguments (x <= 0, up to rounding).
#pragma once

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

constexpr float kExpUnderflow = -87.33654f;  // below, the result would be subnormal

// Within 1.5 units in the last place; exp(0) is exactly 1; NaN stays NaN. Results below the smallest normal number are
// exactly 0: they cannot matter beside the row's largest term, which is 1, and subnormal factors are slow on many
// processors.
inline vf exp_vector(vf x) {
    // Adding 1.5 * 2^23 rounds to an integer. ln 2 is split so that n * (its upper part) is exact even without fused
    // multiply-add. The polynomial is the minimax one of degree 6 for e^r on +-ln(2)/2 with constant term 1.
    const vf magic = splat(12582912.0f);
    const vf shifted = fma(x, splat(1.44269504f), magic);
    const vf n = shifted - magic;
    vf r = fma(n, splat(-0.693359375f), x);
    r = fma(n, splat(2.12194440e-4f), r);
    vf p = splat(0x1.70a044p-10f);
    p = fma(p, r, splat(0x1.1291d8p-7f));
    p = fma(p, r, splat(0x1.555156p-5f));
    p = fma(p, r, splat(0x1.5553bep-3f));
    p = fma(p, r, splat(0x1.000002p-1f));
    p = fma(p, r, splat(1.0f));
    p = fma(p, r, splat(1.0f));
#if defined(__AVX512F__)
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, splat(kExpUnderflow), _CMP_NLT_UQ), p, n);
#else
    // The integer stands in the low bits of `shifted`; the shift moves it into the exponent and everything else out.
    const vu scaled = reinterpret_cast<vu>(p) + (reinterpret_cast<vu>(shifted) << 23);
    const vi vanishes = x < splat(kExpUnderflow);
    const vf kept = reinterpret_cast<vf>(scaled & ~reinterpret_cast<vu>(vanishes));
    return select(x != x, x, kept);
#endif
}

// The same function for one number, bit for bit.
inline float exp_scalar(float x) { return exp_vector(splat(x))[0]; }

}  // namespace
}  // namespace acl_attn::engine
