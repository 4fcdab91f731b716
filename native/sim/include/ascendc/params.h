// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameter structs of the simulator.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascendc/enums.h"
#include "ascendc/types.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {

namespace detail {
// The filler of floating-point types of 8 bits is given as its code.
template <class T>
using PadValue = std::conditional_t<sizeof(T) == 1 && !std::is_arithmetic_v<T>, uint8_t, T>;
}  // namespace detail

#include "ascendc/structs-inl.h"

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
