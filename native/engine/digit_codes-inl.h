// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored integers as bytes, and what multiplies them: an instruction that takes four unsigned bytes and four signed
// ones. The other factor is taken in digits of a byte, counted from the row's largest number, as tiles take it (see
// digits-inl.h); products and their sums are exact.
#pragma once

#include "engine/amx_codes-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kDigits = 3;  // of queries, 22 bits and a sign, and of probabilities, 24 bits

inline vi multiply_bytes(vi sums, vt unsigned_bytes, vt signed_bytes) {
    return reinterpret_cast<vi>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                    reinterpret_cast<__m512i>(unsigned_bytes),
                                                    reinterpret_cast<__m512i>(signed_bytes)));
}

// A sum from those of its digits, the highest first, in units of the lowest.
inline vf join_digits(const vi* sums) {
    static_assert(kDigits == 3, "the upper two fit an integer");
    const vi upper = (sums[0] << 8) + sums[1];
    return fma(__builtin_convertvector(upper, vf), splat(256.0f), __builtin_convertvector(sums[2], vf));
}

// kPiece channels of a row are 64 bytes. keys(): as kVectors vectors of unsigned bytes, kOffset more than the numbers;
// numbers(): as kVectors vectors of numbers times 2^kExponent. channel(v, i): where byte i of vector v lies in memory.
template <class T>
struct DigitCodes;

template <>
struct DigitCodes<I8> {
    static constexpr int kPiece = 64, kVectors = 1, kOffset = 128, kExponent = 0;
    static void keys(vt codes, vt* to) { to[0] = codes ^ uint8_t{0x80}; }
    static void numbers(vt codes, vt* to) { to[0] = codes; }
    static constexpr int channel(int, int i) { return i; }
};
template <>
struct DigitCodes<I4> {
    static constexpr int kPiece = 128, kVectors = 2, kOffset = 8, kExponent = 4;
    static void keys(vt codes, vt* to) {
        typedef uint16_t words __attribute__((vector_size(64)));
        const vt raised = codes ^ uint8_t{0x88};
        to[0] = raised & uint8_t{0x0f};
        to[1] = reinterpret_cast<vt>(reinterpret_cast<words>(raised) >> 4) & uint8_t{0x0f};
    }
    static void numbers(vt codes, vt* to) {
        to[0] = AmxCodes<I4>::even(codes);
        to[1] = AmxCodes<I4>::odd(codes);
    }
    static constexpr int channel(int v, int i) { return 2 * i + v; }
};

}  // namespace
}  // namespace acl_attn::engine
