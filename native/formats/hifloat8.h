// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// HIFLOAT8: 8 bits, of which the exponent takes fewer near 1, where the mantissa gets them. With E the exponent:
//
//   bits 6..0   |E|      mantissa                      0000 mmm is 2^(m - 23), from 2^-22 to 2^-16; m = 0 is zero.
//   0001 mmm    0        3 bits                        The first of the e bits is the sign of E (1: negative); the
//   001 e mmm   1        3 bits                        others are |E| without its leading one.
//   01 ee mmm   2, 3     3 bits                        0x80 is NaN (there is no -0), 0x6f and 0xef are the infinities.
//   10 eee mm   4..7     2 bits                        Largest finite 0x6e = 2^15.
//   11 eeee m   8..15    1 bit
//
// Codes do not grow with the numbers: compare numbers.
#pragma once

#include "formats/half.h"
#include "formats/overflow.h"

namespace acl_attn::formats {

enum class HiFloat8Rounding : uint8_t {
    nearest,  // to nearest, ties away from zero ("TA")
    hybrid,   // the same for |E| < 4, beyond that by the discarded bits themselves: pseudo-random, but reproducible
};

constexpr uint8_t kNanHiFloat8 = 0x80;
constexpr uint8_t kInfinityHiFloat8 = 0x6f;
constexpr uint8_t kLargestHiFloat8 = 0x6e;

// The numbers as bf16 codes, which hold every HIFLOAT8 number exactly; small enough to be permuted in registers. Index:
// bits 6..0 of the code.
struct HiFloat8Table {
    uint16_t bf16[128];

    constexpr HiFloat8Table() : bf16() {
        for (int code = 0; code < 128; code++) bf16[code] = static_cast<uint16_t>(magnitude(code));
    }

private:
    static constexpr int magnitude(int code) {
        if (code == 0) return 0;
        if (code == kInfinityHiFloat8) return 0x7f80;
        if (code < 0x08) return (code - 23 + 127) << 7;
        if (code < 0x10) return (127 << 7) | ((code & 7) << 4);
        if (code < 0x20) return number(code >> 3 & 1, 1, code & 7, 3);
        if (code < 0x40) return number(code >> 3 & 3, 2, code & 7, 3);
        if (code < 0x60) return number(code >> 2 & 7, 4, code & 3, 2);
        return number(code >> 1 & 15, 8, code & 1, 1);
    }
    // `leading`: the exponent's implicit leading one, at whose place the field has the exponent's sign.
    static constexpr int number(int field, int leading, int mantissa, int width) {
        const int exponent = (field & leading) != 0 ? -field : field + leading;
        return ((exponent + 127) << 7) | (mantissa << (7 - width));
    }
};

inline constexpr HiFloat8Table kHiFloat8Table{};

// The numbers of all codes as bits of fp32, for instruction sets that can't permute the table above.
struct HiFloat8Fp32Table {
    uint32_t bits[256];

    constexpr HiFloat8Fp32Table() : bits() {
        for (uint32_t code = 0; code < 256; code++) {
            bits[code] = (code & 0x80u) << 24 | uint32_t{kHiFloat8Table.bf16[code & 0x7f]} << 16;
        }
        bits[kNanHiFloat8] = 0x7fc00000u;
    }
};

inline constexpr HiFloat8Fp32Table kHiFloat8Fp32{};

inline float decode_hifloat8(uint8_t code) { return float_of(kHiFloat8Fp32.bits[code]); }

// Bits of mantissa that a number with this exponent keeps. -22 <= exponent <= 15.
inline int hifloat8_mantissa_bits(int exponent) {
    const int size = exponent < 0 ? -exponent : exponent;
    return size < 4 ? 3 : size < 8 ? 2 : size < 16 ? 1 : 0;
}

inline uint8_t encode_hifloat8(float value, HiFloat8Rounding rounding = HiFloat8Rounding::nearest,
                               Overflow overflow = Overflow::saturate) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = (bits >> 24) & 0x80u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return kNanHiFloat8;
    const uint8_t beyond = overflow == Overflow::saturate ? kLargestHiFloat8 : kInfinityHiFloat8;
    if (magnitude >= 0x47200000u) return static_cast<uint8_t>(sign | beyond);  // 1.25 * 2^15, the tie below infinity
    const uint32_t fraction = magnitude & 0x7fffffu;
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent < -23) return 0;
    if (exponent == -23) {  // between 0 and 2^-22; 2^-23 is the tie
        const bool up = rounding == HiFloat8Rounding::nearest || (fraction >> 10) + 8192 >= (fraction & 0x3fffu);
        return static_cast<uint8_t>(up ? sign | 1u : 0u);
    }
    const int width = hifloat8_mantissa_bits(exponent);
    const int dropped = 23 - width;
    const uint32_t rest = fraction & ((1u << dropped) - 1);
    bool up = rest >> (dropped - 1) != 0;
    if (rounding == HiFloat8Rounding::hybrid && width < 3) {
        // Literally the rule would move exact numbers too (0 >= 0).
        up = rest != 0 && rest >> (dropped - 14) >= (rest & 0x3fffu);
    }
    uint32_t mantissa = (fraction >> dropped) + (up ? 1u : 0u);
    if (mantissa >> width != 0) {  // carry: the next power of two, whose mantissa is 0 in any width
        mantissa = 0;
        exponent++;
    }
    if (exponent == 15 && mantissa == 1) return static_cast<uint8_t>(sign | beyond);
    if (exponent <= -16) return static_cast<uint8_t>(sign | static_cast<uint32_t>(exponent + 23));
    const uint32_t size = static_cast<uint32_t>(exponent < 0 ? -exponent : exponent);
    const uint32_t leading = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : size;
    const uint32_t field = exponent < 0 ? size : size - leading;
    const uint32_t prefix = size >= 8 ? 0x60 : size >= 4 ? 0x40 : size >= 2 ? 0x20 : size == 1 ? 0x10 : 0x08;
    return static_cast<uint8_t>(sign | (prefix + (field << hifloat8_mantissa_bits(exponent)) + mantissa));
}

}  // namespace acl_attn::formats
