// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Fp32 numbers as integers in digits to the base 256, each -128 .. 127, counted from the largest number of their row:
// what multiplies bytes computes with them as exactly as fp32 would. A row is first brought near 1 by a power of two.
#pragma once

#include "engine/half-inl.h"
#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

inline float power_of_two(int exponent) {
    const int32_t bits = (exponent + 127) << 23;
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// The largest magnitude of some numbers.
class Magnitude {
public:
    void add(vf x) {
        const vi bits = as_int(x) & 0x7fffffff;
        top_ = bits > top_ ? bits : top_;
    }
    bool is_finite() const { return biased_exponent() < 255; }
    // Of a power of two that is not above it; so far from the format's ends that digits' weights are numbers.
    int exponent() const {
        const int biased = biased_exponent();
        return (biased < 40 ? 40 : biased > 253 ? 253 : biased) - 127;
    }

private:
    int biased_exponent() const {
#if defined(__AVX512F__)
        return _mm512_reduce_max_epi32(reinterpret_cast<__m512i>(top_)) >> 23;
#else
        int32_t top = 0;
        for (int i = 0; i < kLanes; i++) top = top_[i] > top ? top_[i] : top;
        return top >> 23;
#endif
    }
    vi top_ = {};
};

// What numbers of a row with this Magnitude::exponent() are multiplied by to have kCount digits, and what digit d, the
// highest first, is worth.
template <int kCount>
inline float digit_factor(int exponent) { return power_of_two(8 * kCount - 3 - exponent); }
template <int kCount>
inline float digit_weight(int exponent, int d) { return power_of_two(exponent + 3 - 8 * (d + 1)); }

// The digits of numbers times digit_factor<kCount>() in the bytes of their elements, lowest first.
template <int kCount>
inline vu digits_of(vf x) {
    // Adding half the base to each digit but the last carries what is above; what is left has the digit's sign.
    constexpr uint32_t half = kCount == 4 ? 0x00808080u : 0x00008080u;
    return (reinterpret_cast<vu>(__builtin_convertvector(x, vi)) + half) ^ half;
}
// Calls put(digit, numbers), the highest digit first.
template <int kCount, class Put>
inline void split_digits(vf x, Put put) {
    const vu all = digits_of<kCount>(x);
    for (int d = 0; d < kCount; d++) put(d, __builtin_convertvector(all >> (8 * (kCount - 1 - d)) & 0xffu, vb));
}

}  // namespace
}  // namespace acl_attn::engine
