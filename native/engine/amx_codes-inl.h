// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored integers as the int8 that tiles multiply. AmxCodes<T> has
//   kPiece                   channels that are taken together: of kVectors vectors of numbers;
//   kExponent                the numbers are the codes' times 2^kExponent;
//   kIsStored                whether keys are such numbers where they lie, in the order of memory;
//   keys(p, bytes, to)       a key's piece as vectors; key_channel(i): which channel their i-th number is;
//   values(rows, bytes, to)  the piece of kAmxBytes values as elements, tile after tile; value_channel(i):
//                            which channel the i-th element is of.
// Lanes keep no order that would cost a shuffle.
#pragma once

#include "engine/amx_digits-inl.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

typedef uint8_t vt __attribute__((vector_size(64)));  // a tile's row

inline vt load_row_part(const uint8_t* p, int bytes) { return load_bytes<vt>(p, bytes); }

// Inside each 128-bit quarter, of its lower (kHigh: upper) half: a0 b0 a1 b1 ..., elements of kBytes bytes.
template <int kBytes, bool kHigh>
inline vt zip_rows(vt a, vt b) {
#if defined(__AVX512BW__)
    const __m512i x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
    if constexpr (kBytes == 1) {
        return reinterpret_cast<vt>(kHigh ? _mm512_unpackhi_epi8(x, y) : _mm512_unpacklo_epi8(x, y));
    } else {
        return reinterpret_cast<vt>(kHigh ? _mm512_unpackhi_epi16(x, y) : _mm512_unpacklo_epi16(x, y));
    }
#else
    vt out = {};
    for (int i = 0; i < 64; i++) {
        const int half = i % 16 / (2 * kBytes) * kBytes + i % kBytes;
        const int from = i / 16 * 16 + (kHigh ? 8 : 0) + half;
        out[i] = i / kBytes % 2 == 0 ? a[from] : b[from];
    }
    return out;
#endif
}

// to[j], element 4q + i: bytes a, b, c, d of column 16q + 4j + i.
inline void zip_four(vt a, vt b, vt c, vt d, vt to[4]) {
    const vt low_ab = zip_rows<1, false>(a, b), high_ab = zip_rows<1, true>(a, b);
    const vt low_cd = zip_rows<1, false>(c, d), high_cd = zip_rows<1, true>(c, d);
    to[0] = zip_rows<2, false>(low_ab, low_cd);
    to[1] = zip_rows<2, true>(low_ab, low_cd);
    to[2] = zip_rows<2, false>(high_ab, high_cd);
    to[3] = zip_rows<2, true>(high_ab, high_cd);
}
constexpr int zipped_column(int i) { return i % 16 / 4 * 16 + i / 16 * 4 + i % 4; }

template <class T>
struct AmxCodes;

template <>
struct AmxCodes<I8> {
    static constexpr int kPiece = 64, kVectors = 1, kExponent = 0;
    static constexpr bool kIsStored = true;

    static void keys(const uint8_t* p, int bytes, vt* to) { to[0] = load_row_part(p, bytes); }
    static constexpr int key_channel(int i) { return i; }
    static void values(const uint8_t* const* rows, int bytes, vt* to) {
        zip_four(load_row_part(rows[0], bytes), load_row_part(rows[1], bytes), load_row_part(rows[2], bytes),
                 load_row_part(rows[3], bytes), to);
    }
    static constexpr int value_channel(int i) { return zipped_column(i); }
};

// In the upper half of a byte a code is 16 times as much, and has its sign.
template <>
struct AmxCodes<I4> {
    static constexpr int kPiece = 128, kVectors = 2, kExponent = 4;
    static constexpr bool kIsStored = false;

    static vt even(vt codes) {
        typedef uint16_t words __attribute__((vector_size(64)));
        return reinterpret_cast<vt>(reinterpret_cast<words>(codes) << 4) & uint8_t{0xf0};
    }
    static vt odd(vt codes) { return codes & uint8_t{0xf0}; }
    static void keys(const uint8_t* p, int bytes, vt* to) {
        const vt codes = load_row_part(p, bytes);
        to[0] = even(codes);
        to[1] = odd(codes);
    }
    static constexpr int key_channel(int i) { return i % 64 * 2 + i / 64; }
    static void values(const uint8_t* const* rows, int bytes, vt* to) {
        vt codes[4];
        for (int k = 0; k < 4; k++) codes[k] = load_row_part(rows[k], bytes);
        zip_four(even(codes[0]), even(codes[1]), even(codes[2]), even(codes[3]), to);
        zip_four(odd(codes[0]), odd(codes[1]), odd(codes[2]), odd(codes[3]), to + 4);
    }
    static constexpr int value_channel(int i) { return zipped_column(i % 64) * 2 + i / 64; }
};

}  // namespace
}  // namespace acl_attn::engine
