// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The formats of 8 and 4 bits, a vector at a time: the same mappings as the scalar headers of this folder. Included, as
// engine/half-inl.h is, by one translation unit for each instruction set.
//
// A format is a tag type T with T::kBits. widen(T, codes) takes kLanes codes, each in its own byte (4-bit codes in the
// lower half; the upper half must be 0). load_wide<T>(p) and load_wide_part<T>(p, n) read them from memory, where two
// 4-bit codes share a byte; p is the first one's byte. They touch only the bytes of the n elements.
#pragma once

#include <type_traits>

#include "engine/half-inl.h"
#include "formats/hifloat8.h"

namespace acl_attn::engine {
namespace {

struct I8 {
    static constexpr int kBits = 8;
};
struct E4M3 {
    static constexpr int kBits = 8;
};
struct HiFloat8 {
    static constexpr int kBits = 8;
};
struct E8M0 {
    static constexpr int kBits = 8;
};
struct I4 {
    static constexpr int kBits = 4;
};
struct E2M1 {
    static constexpr int kBits = 4;
};

// Rows of numbers as products meet them: what their elements are, and where element d is.
template <class T, class = void>
struct Row {
    using Element = typename T::Element;
    static constexpr int kBits = 8 * sizeof(Element);
    static const Element* at(const Element* row, int d) { return row + d; }
};
// Rows of codes; d is even where two share a byte.
template <class T>
struct Row<T, std::void_t<decltype(T::kBits)>> {
    using Element = uint8_t;
    static constexpr int kBits = T::kBits;
    static const Element* at(const Element* row, int d) { return row + d * T::kBits / 8; }
};
template <class T>
constexpr bool is_code = sizeof(typename Row<T>::Element) == 1;

// GCC 12 makes several shuffles of __builtin_convertvector here.
inline vu widen_bits(vb v) {
#if defined(__AVX512F__)
    return reinterpret_cast<vu>(_mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(v)));
#elif defined(__AVX2__)
    return reinterpret_cast<vu>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(reinterpret_cast<int64_t>(v))));
#else
    return __builtin_convertvector(v, vu);
#endif
}
inline vu select_bits(vi mask, vu yes, vu no) { return mask ? yes : no; }
inline vf to_float(vu small) { return __builtin_convertvector(reinterpret_cast<vi>(small), vf); }
inline vu bits_of(vf v) { return reinterpret_cast<vu>(v); }

inline vf widen(I8, vb v) {
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(reinterpret_cast<__m128i>(v)));
#else
    return __builtin_convertvector(reinterpret_cast<vi>(widen_bits(v) << 24) >> 24, vf);
#endif
}

inline vf widen(I4, vb v) {
    return __builtin_convertvector(reinterpret_cast<vi>(widen_bits(v) << 28) >> 28, vf);
}

// Of the codes in the lowest four bits of every lane, whatever is above.
inline vf numbers_of_e2m1(vu code) {
    // The numbers, or their sizes, fit into a register; a permutation looks at as many bits of an index as that needs.
#if defined(__AVX512F__)
    const __m512 numbers = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f,  //
                                          -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
    return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(code), numbers);
#elif defined(__AVX2__)
    const __m256 sizes = _mm256_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f);
    const vu size = reinterpret_cast<vu>(_mm256_permutevar8x32_ps(sizes, reinterpret_cast<__m256i>(code)));
    return reinterpret_cast<vf>(size | (code & 8u) << 28);
#else
    const vu rest = code & 7u;
    const vu small = bits_of(to_float(rest) * 0.5f);
    const vu bits = select_bits(reinterpret_cast<vi>(rest) < 2, small, (rest << 22) + (126u << 23));
    return reinterpret_cast<vf>(bits | (code & 8u) << 28);
#endif
}
inline vf widen(E2M1, vb v) { return numbers_of_e2m1(widen_bits(v)); }

inline vf widen(E8M0, vb v) {
    const vu code = widen_bits(v);
    vu bits = select_bits(reinterpret_cast<vi>(code) == 0, vu{} + 0x00400000u, code << 23);
    bits |= reinterpret_cast<vu>(reinterpret_cast<vi>(code) == 0xff) & 0x7fc00000u;
    return reinterpret_cast<vf>(bits);
}

inline vf widen(E4M3, vb v) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    // One place to the left of the sign the format is fp16 with another exponent bias; fp16's conversion also does the
    // subnormal numbers. Only NaN is different.
    const __m256i code = _mm256_cvtepi8_epi16(reinterpret_cast<__m128i>(v));
    const __m256i half = _mm256_and_si256(_mm256_slli_epi16(code, 7), _mm256_set1_epi16(static_cast<short>(0xbfff)));
    const __m256i rest = _mm256_or_si256(code, _mm256_set1_epi16(static_cast<short>(0xff80)));
    const __mmask16 is_nan = _mm256_cmpeq_epi16_mask(rest, _mm256_set1_epi16(-1));
    const vf number = _mm512_cvtph_ps(half) * 0x1p8f;
    return _mm512_mask_mov_ps(number, is_nan, _mm512_set1_ps(__builtin_nanf("")));
#elif defined(__AVX2__) && defined(__F16C__)
    const __m128i code = _mm_cvtepi8_epi16(_mm_cvtsi64_si128(reinterpret_cast<int64_t>(v)));
    const __m128i half = _mm_and_si128(_mm_slli_epi16(code, 7), _mm_set1_epi16(static_cast<short>(0xbfff)));
    const __m128i rest = _mm_or_si128(code, _mm_set1_epi16(static_cast<short>(0xff80)));
    const __m128i is_nan = _mm_cmpeq_epi16(rest, _mm_set1_epi16(-1));
    const vf number = _mm256_cvtph_ps(half) * 0x1p8f;
    return _mm256_or_ps(number, _mm256_castsi256_ps(_mm256_cvtepi16_epi32(is_nan)));
#else
    const vu code = widen_bits(v);
    const vu rest = code & 0x7fu;
    // Not through a subnormal fp32 number times 2^120, which is shorter: processors stall on those.
    const vu small = bits_of(to_float(rest) * 0x1p-9f);
    vu bits = select_bits(reinterpret_cast<vi>(rest) < 8, small, (rest << 20) + (120u << 23));
    bits |= reinterpret_cast<vu>(reinterpret_cast<vi>(rest) == 0x7f) & 0x7fc00000u;
    return reinterpret_cast<vf>(bits | (code & 0x80u) << 24);
#endif
}

inline vf widen(HiFloat8, vb v) {
#if defined(__AVX512BW__)
    // Two permutations of 64 table entries each; an index uses bits 5..0 of its 16-bit half, bit 6 chooses the table.
    const uint16_t* table = formats::kHiFloat8Table.bf16;
    const __m512i code = _mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(v));
    const __m512i low = _mm512_permutex2var_epi16(load<__m512i>(table), code, load<__m512i>(table + 32));
    const __m512i high = _mm512_permutex2var_epi16(load<__m512i>(table + 64), code, load<__m512i>(table + 96));
    const __mmask16 is_high = _mm512_test_epi32_mask(code, _mm512_set1_epi32(0x40));
    const vu bits = reinterpret_cast<vu>(_mm512_mask_mov_epi32(low, is_high, high)) << 16;
    const vu sign = (reinterpret_cast<vu>(code) & 0x80u) << 24;
    const vi is_nan = reinterpret_cast<vi>(code) == 0x80;
    return reinterpret_cast<vf>(select_bits(is_nan, vu{} + 0x7fc00000u, bits | sign));
#else
    vu bits = {};
    for (int i = 0; i < kLanes; i++) bits[i] = formats::kHiFloat8Fp32.bits[v[i]];
    return reinterpret_cast<vf>(bits);
#endif
}

// --- From memory.

// kLanes 4-bit codes from kLanes / 2 bytes, each into its own byte.
inline vb spread_nibbles(const uint8_t* p) {
    typedef uint8_t half_bytes __attribute__((vector_size(kLanes / 2)));
    typedef uint16_t half_words __attribute__((vector_size(kLanes)));
    const half_words pairs = __builtin_convertvector(load<half_bytes>(p), half_words);
    return reinterpret_cast<vb>((pairs | pairs << 4) & uint16_t{0x0f0f});
}

template <class T>
inline vb load_codes(const uint8_t* p) {
    if constexpr (T::kBits == 4) {
        return spread_nibbles(p);
    } else {
        return load<vb>(p);
    }
}

// Lanes from n on are code 0.
template <class T>
inline vb load_codes_part(const uint8_t* p, int n) {
    if (n >= kLanes) return load_codes<T>(p);
    if constexpr (T::kBits == 4) {
        uint8_t bytes[kLanes / 2] = {};
        if (n > 0) __builtin_memcpy(bytes, p, static_cast<size_t>(n + 1) / 2);
        if (n % 2 != 0) bytes[n / 2] &= 15;
        return spread_nibbles(bytes);
    } else {
        return load_part<vb>(p, n);
    }
}

template <class T>
inline vf load_wide(const uint8_t* p) {
    return widen(T{}, load_codes<T>(p));
}
template <class T>
inline vf load_wide_part(const uint8_t* p, int n) {
    return widen(T{}, load_codes_part<T>(p, n));
}

// n numbers from the codes at p, the first of which begins a byte.
template <class T>
inline void widen_codes(const uint8_t* p, float* to, int n) {
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) store(to + i, load_wide<T>(p + i * T::kBits / 8));
    if (i < n) store_part(to + i, load_wide_part<T>(p + i * T::kBits / 8, n - i), n - i);
}

}  // namespace
}  // namespace acl_attn::engine
