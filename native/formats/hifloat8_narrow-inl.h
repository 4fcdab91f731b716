// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Finite numbers to HIFLOAT8 codes, as narrow(HiFloat8{}, x) of round-inl.h does, in a third of its instructions. Ties
// go away from zero, so that only the first discarded bit counts: half of the last place that an exponent keeps can be
// added before it is cut off. What depends on the exponent comes from two tables, which AVX-512 permutes in registers.
#pragma once

#include "formats/round-inl.h"

namespace acl_attn::engine {
namespace {

// Index: exponent + 24, from 0 to 40; smaller and larger numbers are brought into that range first.
struct HiFloat8Steps {
    static constexpr int kBias = 24;
    uint16_t half[64];  // of the last place kept, in units of 2^-7 of the number's power of two
    uint16_t code[64];  // of the power of two in the low byte; above it how far to shift a 7-bit fraction

    constexpr HiFloat8Steps() : half(), code() {
        for (int i = 0; i < 64; i++) {
            const int exponent = i - kBias;
            const int size = exponent < 0 ? -exponent : exponent;
            const int width = size < 4 ? 3 : size < 8 ? 2 : size < 16 ? 1 : 0;
            const int leading = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : size;
            const int prefix = size >= 8 ? 0x60 : size >= 4 ? 0x40 : size >= 2 ? 0x20 : size == 1 ? 0x10 : 0x08;
            const int field = exponent < 0 ? size : size - leading;
            int first = exponent <= -16 ? exponent + 23 : prefix + (field << width);
            half[i] = static_cast<uint16_t>(64 >> width);
            if (exponent < -22) first = 0;
            if (exponent == -23) half[i] = 128;  // 2^-23 is the tie between 0 and the smallest number
            if (exponent < -23) half[i] = 0;
            code[i] = static_cast<uint16_t>(first | (7 - width) << 8);
        }
    }
};

inline constexpr HiFloat8Steps kHiFloat8Steps{};

// table[index] in each lane, zero-extended.
inline vu look_up(const uint16_t (&table)[64], vu index) {
#if defined(__AVX512BW__)
    const __m512i found = _mm512_permutex2var_epi16(load<__m512i>(table), reinterpret_cast<__m512i>(index),
                                                    load<__m512i>(table + 32));
    return reinterpret_cast<vu>(found) & 0xffffu;
#else
    vu found = {};
    for (int i = 0; i < kLanes; i++) found[i] = table[index[i]];
    return found;
#endif
}

inline vb narrow_finite(HiFloat8, vf x) {
    constexpr uint32_t kFirst = (127 - HiFloat8Steps::kBias) << 23;  // of index 0
    // 1.25 * 2^15 is the tie below infinity, which saturates too.
    vu size = magnitude_of(x);
    size = select_bits(reinterpret_cast<vi>(size) >= 0x47200000, vu{} + 0x47000000u, size);
    size = select_bits(reinterpret_cast<vi>(size) < static_cast<int32_t>(kFirst), vu{} + kFirst, size) - kFirst;
    const vu rounded = (size >> 16) + look_up(kHiFloat8Steps.half, size >> 23);
    const vu found = look_up(kHiFloat8Steps.code, rounded >> 7);
    const vu code = (found & 0xffu) + ((rounded & 0x7fu) >> (found >> 8));
    const vu sign = bits_of(x) >> 24 & 0x80u;
    return to_bytes(code | (sign & reinterpret_cast<vu>(reinterpret_cast<vi>(code) != 0)));
}

}  // namespace
}  // namespace acl_attn::engine
