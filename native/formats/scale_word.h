// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scale of an integer matrix product: of its fp32 number the device uses the upper 19 bits (sign, exponent, 10 bits
// of mantissa). Given as fp32, or as a UINT64 word whose lower half is the fp32 number and whose upper half is flags
// that mean nothing here.
#pragma once

#include "formats/half.h"

namespace acl_attn::formats {

inline float truncate_fp19(float scale) { return float_of(bits_of(scale) & 0xffffe000u); }

inline float decode_scale_word(uint64_t word) { return truncate_fp19(float_of(static_cast<uint32_t>(word))); }

}  // namespace acl_attn::formats
