// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// FLOAT8_E8M0: a scale that is a power of two, 2^(code - 127); 0xff is NaN. No sign, no zero.
#pragma once

#include "formats/half.h"

namespace acl_attn::formats {

// Code 0 is 2^-127, a subnormal fp32.
inline float decode_e8m0(uint8_t code) {
    if (code == 0xff) return float_of(0x7fc00000u);
    return float_of(code == 0 ? 0x00400000u : uint32_t{code} << 23);
}

// The power of two nearest to a scale, the larger one of two; NaN for what no power of two is near: NaN, infinities,
// zeros and negative numbers.
inline uint8_t encode_e8m0(float scale) {
    const uint32_t bits = bits_of(scale);
    if (bits == 0 || bits >= 0x7f800000u) return 0xff;
    if (bits < 0x00800000u) return bits >= 0x00600000u ? 1 : 0;  // the tie between 2^-127 and 2^-126
    const uint32_t code = (bits + 0x400000u) >> 23;
    return static_cast<uint8_t>(code < 0xff ? code : 0xfe);
}

}  // namespace acl_attn::formats
