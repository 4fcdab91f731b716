// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding fp32 vectors to the numbers of an 8-bit format, saturating. round_to(T, x) stays in fp32, for arithmetic on
// quantised numbers that never leave the registers; narrow(T, x) gives the codes, a byte each. The same mappings as the
// scalar headers of this folder with Overflow::saturate.
#pragma once

#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

// HIFLOAT8 with the hybrid rounding; the codes are those of HiFloat8.
struct HiFloat8Hybrid {
    static constexpr int kBits = 8;
};

inline vu magnitude_of(vf v) { return bits_of(v) & 0x7fffffffu; }
inline vi is_nan(vf v) { return v != v; }
inline vf with_sign_of(vf v, vu magnitude) { return reinterpret_cast<vf>(magnitude | (bits_of(v) & 0x80000000u)); }

// To the nearest integer, ties to even. |x| < 2^22.
inline vf round_even(vf x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

// To the nearest integer of -128..127, ties to even; NaN becomes 0.
inline vf round_i8(vf x) {
    vf inside = select(x < -128.0f, splat(-128.0f), x);
    inside = select(inside > 127.0f, splat(127.0f), inside);
    return round_even(select(is_nan(x), vf{}, inside));
}

inline vf round_to(I8, vf x) { return round_i8(widen(F16{}, narrow(F16{}, x))); }

inline vf round_to(E4M3, vf x) {
    const vu size = magnitude_of(x);
    const vu normal = (size + 0x7ffffu + ((size >> 20) & 1u)) & 0xfff00000u;
    const vu subnormal = bits_of((reinterpret_cast<vf>(size) + 0x1p14f) - 0x1p14f);  // whose last place is 2^-9
    vu rounded = select_bits(reinterpret_cast<vi>(size) < 0x3c800000, subnormal, normal);
    rounded = select_bits(reinterpret_cast<vi>(rounded) > 0x43e00000, vu{} + 0x43e00000u, rounded);  // 448
    return select(is_nan(x), x, with_sign_of(x, rounded));
}

// `hybrid`: HiFloat8Rounding::hybrid.
template <bool hybrid>
inline vf round_hifloat8(vf x) {
    const vu size = magnitude_of(x);
    const vi exponent = reinterpret_cast<vi>(size >> 23) - 127;
    const vi distance = exponent < 0 ? -exponent : exponent;
    const vu unit = (vu{} + 0x100000u) << reinterpret_cast<vu>(-((distance > 3) + (distance > 7) + (distance > 15)));
    const vu rest = size & (unit - 1u);
    vi up = rest >= unit >> 1;
    if constexpr (hybrid) {
        // The upper and the lower 14 of the discarded bits.
        const vu upper = select_bits(distance > 15, rest >> 9, select_bits(distance > 7, rest >> 8, rest >> 7));
        const vi by_bits = (rest != 0) & (upper >= (rest & 0x3fffu));
        up = (distance > 3) ? by_bits : up;
    }
    vu rounded = (size - rest) + (reinterpret_cast<vu>(up) & unit);
    // Below the smallest number, 2^-22: half of it is the tie.
    vi reaches = reinterpret_cast<vi>(size) >= 0x34000000;
    if constexpr (hybrid) {
        const vu fraction = size & 0x7fffffu;
        reaches &= (fraction >> 10) + 8192u >= (fraction & 0x3fffu);
    }
    rounded = select_bits(exponent < -22, reinterpret_cast<vu>(reaches) & 0x34800000u, rounded);
    // 1.5 * 2^15 is the code of infinity, 1.25 * 2^15 the tie below it.
    const vi beyond = (reinterpret_cast<vi>(size) >= 0x47200000) | (reinterpret_cast<vi>(rounded) > 0x47000000);
    rounded = select_bits(beyond, vu{} + 0x47000000u, rounded);
    // No negative zero.
    const vf result = select(reinterpret_cast<vi>(rounded) == 0, vf{}, with_sign_of(x, rounded));
    return select(is_nan(x), x, result);
}

inline vf round_to(HiFloat8, vf x) { return round_hifloat8<false>(x); }
inline vf round_to(HiFloat8Hybrid, vf x) { return round_hifloat8<true>(x); }

// --- Codes of numbers that are already rounded.

// The lowest byte of every lane. As with widen_bits, GCC 12 does not find the instructions.
inline vb to_bytes(vu codes) {
#if defined(__AVX512F__)
    return reinterpret_cast<vb>(_mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(codes)));
#elif defined(__AVX2__)
    const __m256i bytes = reinterpret_cast<__m256i>(codes & 0xffu);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    return reinterpret_cast<vb>(_mm_cvtsi128_si64(_mm_packus_epi16(words, words)));
#else
    return __builtin_convertvector(codes, vb);
#endif
}

inline vb encode_rounded(I8, vf x) {
    return to_bytes(reinterpret_cast<vu>(__builtin_convertvector(x, vi)));
}

inline vb encode_rounded(E4M3, vf x) {
    const vu size = magnitude_of(x);
    const vu normal = (size - (120u << 23)) >> 20;
    const vu subnormal = bits_of(reinterpret_cast<vf>(size) + 0x1p14f) - 0x46800000u;
    vu code = select_bits(reinterpret_cast<vi>(size) < 0x3c800000, subnormal, normal);
    code = select_bits(is_nan(x), vu{} + 0x7fu, code);
    return to_bytes(code | (bits_of(x) >> 24 & 0x80u));
}

inline vb encode_rounded(HiFloat8, vf x) {
    const vu size = magnitude_of(x);
    const vi exponent = reinterpret_cast<vi>(size >> 23) - 127;
    const vi is_negative = exponent < 0;
    const vi distance = is_negative ? -exponent : exponent;
    // For each class: where its codes begin, the leading one that a positive exponent's field leaves out, and the bits
    // of mantissa.
    const vi is1 = distance > 0, is2 = distance > 1, is3 = distance > 3, is4 = distance > 7;
    const vi prefix = 0x08 - is1 * 0x08 - is2 * 0x10 - is3 * 0x20 - is4 * 0x20;
    const vi leading = 0 - is1 - is2 - is3 * 2 - is4 * 4;
    const vi field = distance - (leading & ~is_negative);
    const vu top = size >> 20 & 7u;
    const vi wide = prefix + field * 8 + reinterpret_cast<vi>(top);
    const vi middle = prefix + field * 4 + reinterpret_cast<vi>(top >> 1);
    const vi narrow_class = prefix + field * 2 + reinterpret_cast<vi>(top >> 2);
    vu code = select_bits(is3, reinterpret_cast<vu>(middle), reinterpret_cast<vu>(wide));
    code = select_bits(is4, reinterpret_cast<vu>(narrow_class), code);
    code = select_bits(exponent <= -16, reinterpret_cast<vu>(exponent + 23), code);
    code |= bits_of(x) >> 24 & 0x80u;
    code = select_bits(reinterpret_cast<vi>(size) == 0, vu{}, code);
    return to_bytes(select_bits(is_nan(x), vu{} + formats::kNanHiFloat8, code));
}

inline vb encode_rounded(HiFloat8Hybrid, vf x) { return encode_rounded(HiFloat8{}, x); }

template <class T>
inline vb narrow(T, vf x) {
    return encode_rounded(T{}, round_to(T{}, x));
}

// The codes of n numbers.
template <class T>
inline void narrow_codes(const float* x, uint8_t* to, int n) {
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) store(to + i, narrow(T{}, load<vf>(x + i)));
    if (i < n) store_part(to + i, narrow(T{}, load_part<vf>(x + i, n - i)), n - i);
}

}  // namespace
}  // namespace acl_attn::engine
