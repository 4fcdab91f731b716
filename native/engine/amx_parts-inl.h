// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Fp32 numbers as sums of smaller ones, so that the matrix products of decode, which take int8, compute as
// exactly as fp32 would. A row is first brought near 1 by a power of two. A tile has room for four parts of four rows:
// its 16 rows, or columns, are [part][row].
#pragma once

#include "engine/amx-inl.h"
#include "engine/half-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kAmxPartRows = 4;  // rows whose parts share a tile
constexpr int kAmxElementBytes = 4;

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
    // Of a power of two that is not above it; so far from the format's ends that the parts' weights are numbers.
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

// Digits to the base 256, each -128 .. 127, counted from the row's largest number: four of queries, 31 bits; three of
// probabilities, 23.
struct Int8Parts {
    static constexpr int kQueryParts = 4, kWeightParts = 3;
    static constexpr int kPerElement = 4;                      // numbers
    static constexpr int kPerRow = kPerElement * kAmxColumns;  // of a tile's row

    template <int kParts>
    static float factor(int exponent) { return power_of_two(8 * kParts - 3 - exponent); }
    template <int kParts>
    static float weight(int exponent, int part) { return power_of_two(exponent + 3 - 8 * (part + 1)); }

    // A row's numbers, that were multiplied by factor<kParts>(), as digits in the bytes of its elements, lowest first.
    template <int kParts>
    static vu digits(vf x) {
        // Adding half the base to each digit but the last carries what is above; what is left has the digit's sign.
        constexpr uint32_t half = kParts == 4 ? 0x00808080u : 0x00008080u;
        return (reinterpret_cast<vu>(__builtin_convertvector(x, vi)) + half) ^ half;
    }
    // Calls put(part, numbers).
    template <int kParts, class Put>
    static void split(vf x, Put put) {
        const vu all = digits<kParts>(x);
        for (int p = 0; p < kParts; p++) put(p, __builtin_convertvector(all >> (8 * (kParts - 1 - p)) & 0xffu, vb));
    }
    // kPerRow probabilities; part p goes to to + p * stride. They are rounded: cut off, all of them together would be a
    // little too small beside their sum.
    static void split_row(const float* x, vf factor, char* to, ptrdiff_t stride) {
#if defined(__AVX512VBMI__)
        const __m512i order = _mm512_set_epi8(63, 59, 55, 51, 47, 43, 39, 35, 31, 27, 23, 19, 15, 11, 7, 3,  //
                                              60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0,   //
                                              61, 57, 53, 49, 45, 41, 37, 33, 29, 25, 21, 17, 13, 9, 5, 1,   //
                                              62, 58, 54, 50, 46, 42, 38, 34, 30, 26, 22, 18, 14, 10, 6, 2);
        __m512i planes[4];  // of 16 numbers: third, second, first bytes
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            const vu all = digits<kWeightParts>(nearest_integer(load<vf>(x + v * kLanes) * factor));
            planes[v] = _mm512_permutexvar_epi8(order, reinterpret_cast<__m512i>(all));
        }
        const __m512i front = _mm512_shuffle_i32x4(planes[0], planes[1], 0x44);
        const __m512i back = _mm512_shuffle_i32x4(planes[2], planes[3], 0x44);
        _mm512_storeu_si512(to, _mm512_shuffle_i32x4(front, back, 0x88));
        _mm512_storeu_si512(to + stride, _mm512_shuffle_i32x4(front, back, 0xdd));
        _mm512_storeu_si512(to + 2 * stride, _mm512_shuffle_i32x4(_mm512_shuffle_i32x4(planes[0], planes[1], 0xee),
                                                                  _mm512_shuffle_i32x4(planes[2], planes[3], 0xee),
                                                                  0x88));
#else
        for (int c = 0; c < kPerRow; c += kLanes, x += kLanes) {
            split<kWeightParts>(nearest_integer(load<vf>(x) * factor),
                                [&](int p, vb numbers) { store(to + p * stride + c, numbers); });
        }
#endif
    }

    template <int kSum, int kLeft, int kRight>
    static void multiply() { amx_multiply_int8<kSum, kLeft, kRight>(); }
    static vf load_sums(const void* p) { return __builtin_convertvector(load<vi>(p), vf); }
};

// sums[key] has [part][row], 64 bytes; to[row][key] becomes the row's sum over its parts, each times its weight.
template <class Parts>
inline void join_parts(const char* sums, const float* weights, float (*to)[kAmxRows]) {
#if defined(__AVX512F__)
    const vf weight = load<vf>(weights);
    const auto weighted = [&](int key) { return Parts::load_sums(sums + 64 * key) * weight; };
    // The quarters of a and of b, added in pairs.
    const auto add_quarters = [](vf a, vf b) {
        return static_cast<vf>(_mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd)));
    };
    vf of_keys[4];  // of four keys: [key][row]
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vf first = add_quarters(weighted(4 * i), weighted(4 * i + 1));
        of_keys[i] = add_quarters(first, add_quarters(weighted(4 * i + 2), weighted(4 * i + 3)));
    }
#pragma GCC unroll 2
    for (int r = 0; r < 4; r += 2) {
        __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
        lanes = _mm512_add_epi32(lanes, _mm512_set1_epi32(r));
        const __m512 low = _mm512_permutex2var_ps(of_keys[0], lanes, of_keys[1]);
        const __m512 high = _mm512_permutex2var_ps(of_keys[2], lanes, of_keys[3]);
        store(to[r], static_cast<vf>(_mm512_shuffle_f32x4(low, high, 0x44)));
        store(to[r + 1], static_cast<vf>(_mm512_shuffle_f32x4(low, high, 0xee)));
    }
#else
    for (int key = 0; key < kAmxRows; key++) {
        float part[4][kAmxPartRows];
        for (int p = 0; p < 4; p++) {
            static_assert(kLanes % kAmxPartRows == 0 || kAmxPartRows % kLanes == 0, "whole vectors");
            for (int r = 0; r < kAmxPartRows; r += kLanes) {
                const vf x = Parts::load_sums(sums + 64 * key + 4 * (kAmxPartRows * p + r));
                store_part(part[p] + r, x * load_part<vf>(weights + kAmxPartRows * p + r, kAmxPartRows - r),
                           kAmxPartRows - r);
            }
        }
        for (int r = 0; r < kAmxPartRows; r++) to[r][key] = (part[0][r] + part[1][r]) + (part[2][r] + part[3][r]);
    }
#endif
}

}  // namespace
}  // namespace acl_attn::engine
