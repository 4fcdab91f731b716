// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// FLOAT4_E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives (bit 3). Two share a byte: formats/int4.h.
#pragma once

#include "formats/half.h"

namespace acl_attn::formats {

constexpr float kLargestE2m1 = 6.0f;

inline float decode_e2m1(uint8_t nibble) {
    const uint32_t sign = uint32_t{nibble & 8u} << 28;
    const uint32_t rest = nibble & 7u;
    if (rest < 2) return float_of(sign | bits_of(static_cast<float>(rest) * 0.5f));
    return float_of(sign | ((rest << 22) + (126u << 23)));
}

// To nearest, ties to even, saturating. The format has no NaN; it becomes the largest number, as in the format's
// specification for conversions that saturate.
inline uint8_t encode_e2m1(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 28 & 8u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x40c00000u) return static_cast<uint8_t>(sign | 7u);
    if (magnitude < 0x3f800000u) {  // 0, 0.5 and 1: the sum's unit in the last place is 0.5
        return static_cast<uint8_t>(sign | (bits_of(float_of(magnitude) + 0x1p22f) - bits_of(0x1p22f)));
    }
    const uint32_t rounded = magnitude + 0x1fffffu + ((magnitude >> 22) & 1u);
    return static_cast<uint8_t>(sign | ((rounded - (126u << 23)) >> 22));
}

}  // namespace acl_attn::formats
