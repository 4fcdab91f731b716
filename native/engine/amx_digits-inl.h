// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Digits as tiles hold them: a tile has room for four digits of four rows, its 16 rows, or columns, are [digit][row].
#pragma once

#include "engine/amx-inl.h"
#include "engine/digits-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kAmxDigitRows = 4;                      // rows whose digits share a tile
constexpr int kQueryDigits = 4, kWeightDigits = 3;    // 31 bits of queries, 23 of probabilities
constexpr int kAmxBytes = 4;                          // of an element, each a number
constexpr int kAmxNumbers = kAmxBytes * kAmxColumns;  // of a tile's row
constexpr int kAmxTileBytes = kAmxRows * kAmxNumbers;

inline int blocks_of(int rows) { return (rows + kAmxDigitRows - 1) / kAmxDigitRows; }

// Sums of digits' products.
inline vf load_sums(const void* p) { return __builtin_convertvector(load<vi>(p), vf); }

// kAmxNumbers probabilities; digit d goes to to + d * stride. They are rounded: cut off, all of them together would
// be a little too small beside their sum.
inline void split_weights(const float* x, vf factor, char* to, ptrdiff_t stride) {
#if defined(__AVX512VBMI__)
    const __m512i order = _mm512_set_epi8(63, 59, 55, 51, 47, 43, 39, 35, 31, 27, 23, 19, 15, 11, 7, 3,  //
                                          60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0,   //
                                          61, 57, 53, 49, 45, 41, 37, 33, 29, 25, 21, 17, 13, 9, 5, 1,   //
                                          62, 58, 54, 50, 46, 42, 38, 34, 30, 26, 22, 18, 14, 10, 6, 2);
    __m512i planes[4];  // of 16 numbers: third, second, first bytes
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        const vu all = digits_of<kWeightDigits>(nearest_integer(load<vf>(x + v * kLanes) * factor));
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
    for (int c = 0; c < kAmxNumbers; c += kLanes, x += kLanes) {
        split_digits<kWeightDigits>(nearest_integer(load<vf>(x) * factor),
                                    [&](int d, vb numbers) { store(to + d * stride + c, numbers); });
    }
#endif
}

// sums[key] has [digit][row], 64 bytes; to[row][key] becomes the row's sum over its digits, each times its weight.
inline void join_sums(const char* sums, const float* weights, float (*to)[kAmxRows]) {
#if defined(__AVX512F__)
    const vf weight = load<vf>(weights);
    const auto weighted = [&](int key) { return load_sums(sums + 64 * key) * weight; };
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
        float digit[4][kAmxDigitRows];
        for (int d = 0; d < 4; d++) {
            static_assert(kLanes % kAmxDigitRows == 0 || kAmxDigitRows % kLanes == 0, "whole vectors");
            for (int r = 0; r < kAmxDigitRows; r += kLanes) {
                const vf x = load_sums(sums + 64 * key + 4 * (kAmxDigitRows * d + r));
                store_part(digit[d] + r, x * load_part<vf>(weights + kAmxDigitRows * d + r, kAmxDigitRows - r),
                           kAmxDigitRows - r);
            }
        }
        for (int r = 0; r < kAmxDigitRows; r++) to[r][key] = (digit[0][r] + digit[1][r]) + (digit[2][r] + digit[3][r]);
    }
#endif
}

}  // namespace
}  // namespace acl_attn::engine
