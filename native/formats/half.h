// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two 16-bit floating-point formats, one number at a time. Encoding rounds to nearest, ties to even; NaN stays NaN
// (quiet), a value beyond the largest finite number becomes infinite.
#pragma once

#include <cstdint>
#include <cstring>

namespace acl_attn::formats {

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float decode_bf16(uint16_t code) { return float_of(uint32_t{code} << 16); }

inline uint16_t encode_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float decode_f16(uint16_t code) {
    const uint32_t sign = uint32_t{code & 0x8000u} << 16;
    const uint32_t exponent = (code >> 10) & 31u;
    const uint32_t mantissa = code & 0x3ffu;
    if (exponent == 31) return float_of(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
    if (exponent != 0) return float_of(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return float_of(sign | bits_of(magnitude));
}

inline uint16_t encode_f16(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
    if (magnitude < 0x38800000u) {  // subnormal: the sum's unit in the last place is 2^-24, so the adder rounds
        return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

}  // namespace acl_attn::formats
