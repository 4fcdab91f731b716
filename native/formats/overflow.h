// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What an 8-bit float encoder does with numbers beyond the largest finite one.
#pragma once

#include <cstdint>

namespace acl_attn::formats {

enum class Overflow : uint8_t {
    saturate,  // the largest finite number; also for infinities
    special,   // what the format has instead: NaN in E4M3, infinity in HIFLOAT8
};

}  // namespace acl_attn::formats
