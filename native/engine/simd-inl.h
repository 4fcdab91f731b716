// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of kLanes numbers: the few operations that kernels need, on GCC/Clang vector types, with intrinsics only
// where the compiler would not find the instruction itself. Included by one translation unit for each instruction set,
// in an unnamed namespace: nothing here may reach the linker.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace acl_attn::engine {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float vf __attribute__((vector_size(kLanes * 4)));
typedef int32_t vi __attribute__((vector_size(kLanes * 4)));
typedef uint32_t vu __attribute__((vector_size(kLanes * 4)));
typedef uint16_t vh __attribute__((vector_size(kLanes * 2)));
typedef uint16_t vw __attribute__((vector_size(kLanes * 4)));  // as many as fit
typedef uint8_t vb __attribute__((vector_size(kLanes)));

constexpr float kInfinity = __builtin_inff();

template <class V>
inline V load(const void* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

template <class V>
inline void store(void* p, V v) {
    __builtin_memcpy(p, &v, sizeof v);
}

// The first n lanes from memory and zeros in the others; touches only those n elements. 0 <= n <= kLanes.
template <class V, class Element>
inline V load_part(const Element* p, int n) {
    if (n >= kLanes) return load<V>(p);
    V v = {};
    if (n > 0) __builtin_memcpy(&v, p, static_cast<size_t>(n) * sizeof(Element));
    return v;
}

template <class V, class Element>
inline void store_part(Element* p, V v, int n) {
    if (n >= kLanes) return store(p, v);
    if (n > 0) __builtin_memcpy(p, &v, static_cast<size_t>(n) * sizeof(Element));
}

// Elements [c, c + kLanes) of p, those outside [begin, end) unread and 0.
template <class V, class Element>
inline V load_between(const Element* p, int c, int begin, int end) {
    if (c >= begin && c + kLanes <= end) return load<V>(p + c);
    Element part[kLanes] = {};
    for (int i = 0; i < kLanes; i++) {
        if (c + i >= begin && c + i < end) part[i] = p[c + i];
    }
    return load<V>(part);
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
template <>
inline vh load_part<vh, uint16_t>(const uint16_t* p, int n) {
    return n >= kLanes ? load<vh>(p)
                       : reinterpret_cast<vh>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p));
}
template <>
inline vb load_part<vb, uint8_t>(const uint8_t* p, int n) {
    return n >= kLanes ? load<vb>(p)
                       : reinterpret_cast<vb>(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), p));
}
template <>
inline void store_part<vh, uint16_t>(uint16_t* p, vh v, int n) {
    if (n >= kLanes) return store(p, v);
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m256i>(v));
}
#endif

// The first n bytes from memory and zeros after them; touches only those. Any n from 0 on.
template <class V>
inline V load_bytes(const void* p, int n) {
    if (n >= static_cast<int>(sizeof(V))) return load<V>(p);
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) return reinterpret_cast<V>(_mm512_maskz_loadu_epi8((uint64_t{1} << n) - 1, p));
    if constexpr (sizeof(V) == 32) return reinterpret_cast<V>(_mm256_maskz_loadu_epi8((uint32_t{1} << n) - 1, p));
#endif
    V v = {};
    __builtin_memcpy(&v, p, static_cast<size_t>(n));
    return v;
}

inline vf splat(float x) { return x - vf{}; }
inline vi splat_int(int32_t x) { return x - vi{}; }
inline vf as_float(vi v) { return reinterpret_cast<vf>(v); }
inline vi as_int(vf v) { return reinterpret_cast<vi>(v); }

inline vi lane_index() {
    vi v;
    for (int i = 0; i < kLanes; i++) v[i] = i;
    return v;
}

inline vu extend(vh v) {
#if defined(__AVX512F__)
    return reinterpret_cast<vu>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(v)));
#elif defined(__AVX2__)
    return reinterpret_cast<vu>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(v)));
#else
    return __builtin_convertvector(v, vu);
#endif
}

// Written out because GCC converts bytes one by one.
inline vu extend(vb v) {
#if defined(__AVX512F__)
    return reinterpret_cast<vu>(_mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(v)));
#elif defined(__AVX2__)
    __m128i bytes = _mm_setzero_si128();
    __builtin_memcpy(&bytes, &v, sizeof v);
    return reinterpret_cast<vu>(_mm256_cvtepu8_epi32(bytes));
#else
    return __builtin_convertvector(v, vu);
#endif
}

// The lower halves.
inline vh truncate(vu v) {
#if defined(__AVX512F__)
    return reinterpret_cast<vh>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(v)));
#else
    return __builtin_convertvector(v, vh);
#endif
}

inline vf select(vi mask, vf yes, vf no) { return mask ? yes : no; }

// a * b + c; in one rounding where the instruction set has it.
inline vf fma(vf a, vf b, vf c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}

// The nearest integers, of numbers not above 2^22: adding 1.5 * 2^23 leaves no room for fractions.
inline vf nearest_integer(vf x) {
    const vf magic = splat(12582912.0f);
    return (x + magic) - magic;
}

// The larger; `known` if x is NaN.
inline vf max_number(vf x, vf known) {
#if defined(__AVX512F__)
    return _mm512_max_ps(x, known);
#elif defined(__AVX2__)
    return _mm256_max_ps(x, known);
#elif defined(__aarch64__)
    return vmaxnmq_f32(x, known);
#else
    return x > known ? x : known;
#endif
}

// Horizontal reductions in a fixed order (halves folded onto each other).
template <class Combine>
inline float fold(vf v, Combine combine) {
    float lane[kLanes];
    store(lane, v);
    for (int half = kLanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) lane[i] = combine(lane[i], lane[i + half]);
    }
    return lane[0];
}

inline float reduce_sum(vf v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(v);
#else
    return fold(v, [](float a, float b) { return a + b; });
#endif
}

inline float reduce_max(vf v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(v);
#else
    return fold(v, [](float a, float b) { return a > b ? a : b; });
#endif
}

inline bool any(vi mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask));
#elif defined(__aarch64__)
    return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0;
#else
    int32_t all = 0;
    for (int i = 0; i < kLanes; i++) all |= mask[i];
    return all != 0;
#endif
}

// --- Shuffles inside each 128-bit quarter: a0 b0 a1 b1 | ..., a2 b2 a3 b3 | ..., and the same for 64-bit halves.
#if defined(__AVX512F__)
inline vf zip_low(vf a, vf b) { return _mm512_unpacklo_ps(a, b); }
inline vf zip_high(vf a, vf b) { return _mm512_unpackhi_ps(a, b); }
inline vf zip_low2(vf a, vf b) {
    return reinterpret_cast<vf>(_mm512_unpacklo_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b)));
}
inline vf zip_high2(vf a, vf b) {
    return reinterpret_cast<vf>(_mm512_unpackhi_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b)));
}
#elif defined(__AVX2__)
inline vf zip_low(vf a, vf b) { return _mm256_unpacklo_ps(a, b); }
inline vf zip_high(vf a, vf b) { return _mm256_unpackhi_ps(a, b); }
inline vf zip_low2(vf a, vf b) {
    return reinterpret_cast<vf>(_mm256_unpacklo_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
}
inline vf zip_high2(vf a, vf b) {
    return reinterpret_cast<vf>(_mm256_unpackhi_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
}
#else
inline vf zip_low(vf a, vf b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline vf zip_high(vf a, vf b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
inline vf zip_low2(vf a, vf b) { return __builtin_shufflevector(a, b, 0, 1, 4, 5); }
inline vf zip_high2(vf a, vf b) { return __builtin_shufflevector(a, b, 2, 3, 6, 7); }
#endif

// All lanes of two vectors in turns: a0 b0 a1 b1 ..., the first and the second half.
inline vf interleave_low(vf a, vf b) {
#if defined(__AVX512F__)
    const __m512i from = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_ps(a, from, b);
#else
    vf v = {};
    for (int i = 0; i < kLanes; i++) v[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
    return v;
#endif
}
inline vf interleave_high(vf a, vf b) {
#if defined(__AVX512F__)
    const __m512i from = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return _mm512_permutex2var_ps(a, from, b);
#else
    vf v = {};
    for (int i = 0; i < kLanes; i++) v[i] = i % 2 == 0 ? a[(kLanes + i) / 2] : b[(kLanes + i) / 2];
    return v;
#endif
}

// Within each quarter of four vectors: lane i of a result's quarter is of v[i].
template <class Combine>
__attribute__((always_inline)) inline vf fold_quarters(const vf* v, Combine combine) {
    const vf even = combine(zip_low(v[0], v[2]), zip_high(v[0], v[2]));
    const vf odd = combine(zip_low(v[1], v[3]), zip_high(v[1], v[3]));
    return combine(zip_low(even, odd), zip_high(even, odd));
}

// kLanes vectors' lanes, combined: lane i of the result is of v[i]. The order depends on nothing but the lane.
template <class Combine>
__attribute__((always_inline)) inline vf fold_each(const vf* v, Combine combine) {
    vf quarter[kLanes / 4];
#pragma GCC unroll 4
    for (int q = 0; q < kLanes / 4; q++) quarter[q] = fold_quarters(v + 4 * q, combine);
#if defined(__AVX512F__)
    const vf low = combine(_mm512_shuffle_f32x4(quarter[0], quarter[1], 0x88),
                           _mm512_shuffle_f32x4(quarter[0], quarter[1], 0xdd));
    const vf high = combine(_mm512_shuffle_f32x4(quarter[2], quarter[3], 0x88),
                            _mm512_shuffle_f32x4(quarter[2], quarter[3], 0xdd));
    return combine(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
#elif defined(__AVX2__)
    return combine(_mm256_permute2f128_ps(quarter[0], quarter[1], 0x20),
                   _mm256_permute2f128_ps(quarter[0], quarter[1], 0x31));
#else
    return quarter[0];
#endif
}
__attribute__((always_inline)) inline vf sums_of(const vf* v) {
    return fold_each(v, [](vf a, vf b) { return a + b; });
}
inline vf maxima_of(const vf* v) {
    return fold_each(v, [](vf a, vf b) { return max_number(a, b); });
}

// A vector whose q-th 128-bit quarter comes from source(q), an address of 16 readable bytes.
template <class Source>
inline vf gather_quarters(Source source) {
#if defined(__AVX512F__)
    __m512i v = _mm512_castsi128_si512(load<__m128i>(source(0)));
    v = _mm512_inserti32x4(v, load<__m128i>(source(1)), 1);
    v = _mm512_inserti32x4(v, load<__m128i>(source(2)), 2);
    return reinterpret_cast<vf>(_mm512_inserti32x4(v, load<__m128i>(source(3)), 3));
#elif defined(__AVX2__)
    const __m256i v = _mm256_castsi128_si256(load<__m128i>(source(0)));
    return reinterpret_cast<vf>(_mm256_inserti128_si256(v, load<__m128i>(source(1)), 1));
#else
    return load<vf>(source(0));
#endif
}

// Asks for the cache line of p ahead of its use. Inlined by force, like every function that does nothing else: GCC
// takes such a function for one without effect and removes calls to it.
__attribute__((always_inline)) inline void prefetch_to_l1(const void* p) { __builtin_prefetch(p, 0, 3); }
__attribute__((always_inline)) inline void prefetch_to_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace
}  // namespace acl_attn::engine
