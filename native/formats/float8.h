// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// FLOAT8_E4M3FN: sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities, NaN is 0x7f and 0xff. Largest 448,
// smallest normal 2^-6, smallest 2^-9. Encoding rounds to nearest, ties to even.
#pragma once

#include "formats/half.h"
#include "formats/overflow.h"

namespace acl_attn::formats {

constexpr float kLargestE4m3 = 448.0f;
constexpr uint32_t kFirstOverE4m3 = 0x43e80001;  // just above 464, the tie between 448 and what would be 480

inline float decode_e4m3(uint8_t code) {
    const uint32_t sign = uint32_t{code & 0x80u} << 24;
    const uint32_t rest = code & 0x7fu;
    if (rest == 0x7f) return float_of(sign | 0x7fc00000u);
    if (rest >= 8) return float_of(sign | ((rest << 20) + (120u << 23)));
    return float_of(sign | bits_of(static_cast<float>(rest) * 0x1p-9f));
}

// The bf16 code of the same number, of a code without its sign.
constexpr uint16_t bf16_of_e4m3(int code) {
    if (code == 0x7f) return 0x7fc0;
    if (code >= 8) return static_cast<uint16_t>((code << 4) + (120 << 7));
    if (code == 0) return 0;
    const int leading = code >= 4 ? 2 : code >= 2 ? 1 : 0;
    return static_cast<uint16_t>(((leading - 9 + 127) << 7) | ((code << (7 - leading)) & 0x7f));
}

inline uint8_t encode_e4m3(float value, Overflow overflow = Overflow::saturate) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = (bits >> 24) & 0x80u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7fu);
    const uint32_t beyond = overflow == Overflow::saturate ? 0x7e : 0x7f;
    if (magnitude >= kFirstOverE4m3) return static_cast<uint8_t>(sign | beyond);
    if (magnitude < 0x3c800000u) {  // subnormal: the sum's unit in the last place is 2^-9, so the adder rounds
        return static_cast<uint8_t>(sign | (bits_of(float_of(magnitude) + 0x1p14f) - bits_of(0x1p14f)));
    }
    const uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
    return static_cast<uint8_t>(sign | ((rounded - (120u << 23)) >> 20));
}

}  // namespace acl_attn::formats
