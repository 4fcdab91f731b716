// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// INT8 as the device makes it of an fp32 number: to fp16 and from there to the integer, both to nearest, ties to even,
// saturating; NaN becomes 0. The fp16 step is visible where it lands on a tie: 2.5004 becomes 2.
#pragma once

#include "formats/half.h"

namespace acl_attn::formats {

// The integer nearest to a number, ties to even, saturating; NaN becomes 0.
inline int8_t round_i8(float value) {
    if (value != value) return 0;
    const float inside = value < -128.0f ? -128.0f : value > 127.0f ? 127.0f : value;
    return static_cast<int8_t>(static_cast<int>((inside + 0x1.8p23f) - 0x1.8p23f));
}

inline int8_t encode_i8(float value) { return round_i8(decode_f16(encode_f16(value))); }

}  // namespace acl_attn::formats
