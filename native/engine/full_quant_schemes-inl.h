// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The schemes: from products to logits, what a tile's largest logit does to the running maximum, how weights are
// rounded, and how a tile's sums join the row's. An object serves one block.
#pragma once

#include <type_traits>

#include "engine/exp-inl.h"
#include "engine/full_quant_kernels.h"
#include "engine/full_quant_operands-inl.h"
#include "formats/round-inl.h"

namespace acl_attn::engine {
namespace {

constexpr float kLargestF16 = 65504.0f;

inline vf round_f16(vf x) { return widen(F16{}, narrow(F16{}, x)); }

// x, but not above, or below, a number; NaN if it is NaN.
inline vf at_most(vf x, vf largest) {
#if defined(__AVX512F__)
    return _mm512_min_ps(largest, x);
#else
    return select(x > largest, largest, x);
#endif
}
inline vf at_least(vf x, vf least) {
#if defined(__AVX512F__)
    return _mm512_max_ps(least, x);
#else
    return select(x < least, least, x);
#endif
}

inline vf saturate_f16(vf x) { return round_f16(at_least(at_most(x, splat(kLargestF16)), splat(-kLargestF16))); }

// --- Numbers that are not negative, as weights are, to those of a format; saturating. Integers only where storing them
// as elements does not do that.

template <class A>
inline vf round_integer(vf x) {
    if constexpr (A::kIsInteger) {
        return x;
    } else {
        return round_even(x);
    }
}

template <class A>
inline vf round_weight(I8, vf x) { return round_integer<A>(at_most(round_f16(x), splat(127.0f))); }

// As round_to(): adding 1.5 * 2^20 times the exponent's power of two leaves three bits behind it.
template <class A>
inline vf round_weight(E4M3, vf x) {
    const vf inside = at_most(x, splat(448.0f));
    const vf power = max_number(reinterpret_cast<vf>(bits_of(inside) & 0x7f800000u), splat(0x1p-6f));
    return fma(power, splat(-0x1.8p20f), fma(power, splat(0x1.8p20f), inside));
}

template <class A>
inline vf round_weight(HiFloat8, vf x) { return round_to(HiFloat8{}, x); }

// What all but the per-tensor scheme have in common.
template <class A>
struct ScaledScheme {
    using Arithmetic = A;
    static constexpr bool kHasRowScale = true;   // of query rows
    static constexpr bool kHasKeyScale = false;  // of tokens
    static constexpr bool kRoundsBias = false;
    static constexpr bool kTakesIntegers = false;  // products as the arithmetic leaves them
    static constexpr bool kMayStream = false;    // E4M3 codes, values other than keys
    static constexpr float kGain = 1.0f;  // what rounded weights are larger by

    explicit ScaledScheme(const FullQuantBlock& block) : b(block) {}

    vf logit(vf product, vf row_scale) const { return product * row_scale; }
    vf before_exp(vf difference) const { return difference; }
    float top(float largest) const { return largest; }
    // What exponentials are multiplied by before they are rounded, and, in `joining`, what their sums are.
    float relative(float, bool, float& joining) const {
        joining = b.value_scale_all;
        return 1.0f;
    }
    vf tile_sum(vf sum, bool) const { return sum; }
    float divisor(float sum) const { return sum; }

    const FullQuantBlock& b;
};

// Scores and weights in fp16, as in a unit that keeps them so.
template <class A>
struct PerTensor : ScaledScheme<A> {
    static constexpr int kTile = kPerTensorTile;
    static constexpr bool kHasRowScale = false;
    static constexpr bool kRoundsBias = true;
    static constexpr bool kTakesIntegers = A::kIsInteger;

    explicit PerTensor(const FullQuantBlock& block)
        : ScaledScheme<A>(block), scale_(round_f16(splat(block.rows.scale))),
          gain_(round_f16(splat(__builtin_fabsf(block.weight_scale)))),
          largest_(splat(block.weight_scale < 0 ? 128.0f : 127.0f)),
          out_scale_(splat(block.weight_scale < 0 ? -block.value_scale_all : block.value_scale_all)) {}

    vf logit(vf product, vf) const {
        return round_f16(saturate_f16(sums_as_float<A>(product) * splat(this->b.score_scale)) * scale_);
    }
    float relative(float, bool, float& joining) const {
        joining = 1.0f;
        return 1.0f;
    }
    // Magnitudes: the sign of a negative quant_scale1 is out_scale_'s.
    vf weight(vf e, vf) const {
        return round_integer<A>(at_most(round_f16(round_f16(e) * gain_), largest_));
    }
    vf tile_sum(vf sum, bool is_first) const {
        const vf scaled = sum * out_scale_;
        return is_first ? scaled : saturate_f16(scaled);
    }
    float divisor(float sum) const { return round_f16(splat(sum))[0]; }

private:
    const vf scale_, gain_, largest_, out_scale_;
};

// Weights are rounded relative to their own tile's largest.
template <class A, class Format>
struct Mla : ScaledScheme<A> {
    static constexpr int kTile = kMlaTile;
    static constexpr float kGain = std::is_same_v<Format, I8>     ? 127.0f
                                   : std::is_same_v<Format, E4M3> ? 448.0f
                                                                  : 32768.0f;

    using ScaledScheme<A>::ScaledScheme;
    float relative(float own, bool is_first, float& joining) const {
        const float factor = is_first ? 1.0f : own + 0x1p-52f;
        joining = factor * this->b.value_scale_all;
        return kGain / factor;
    }
    vf weight(vf e, vf relative) const { return round_weight<A>(Format{}, e * relative); }
};

template <class A>
struct GqaF8 : ScaledScheme<A> {
    static constexpr int kTile = kScaledTile;
    static constexpr bool kHasKeyScale = true;
    static constexpr bool kMayStream = true;

    explicit GqaF8(const FullQuantBlock& block)
        : ScaledScheme<A>(block), shift_(static_cast<float>(__builtin_log(static_cast<double>(block.weight_scale)))) {}
    float top(float largest) const { return largest - shift_; }
    vf weight(vf e, vf) const { return round_weight<A>(E4M3{}, e); }

private:
    const float shift_;
};

// The running maximum is rounded up to a multiple of ln 2 (of these fp32 numbers), so that rescaling is by powers of
// two.
template <class A>
struct MxF8 : ScaledScheme<A> {
    static constexpr int kTile = kScaledTile;
    static constexpr bool kHasRowScale = false;
    static constexpr bool kMayStream = true;

    explicit MxF8(const FullQuantBlock& block)
        : ScaledScheme<A>(block), scale_(splat(block.score_scale)),
          shift_(splat(static_cast<float>(__builtin_log(static_cast<double>(block.weight_scale))))) {}
    vf logit(vf product, vf) const { return product * scale_; }
    vf before_exp(vf difference) const { return difference + shift_; }
    float top(float largest) const { return __builtin_ceilf(largest * 1.44269502f) * 0.693147182f; }
    vf weight(vf e, vf) const { return round_weight<A>(E4M3{}, e); }

private:
    const vf scale_, shift_;
};

}  // namespace
}  // namespace acl_attn::engine
