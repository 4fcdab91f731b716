// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameter structs: the simulator's list of fields, and what it does not have.
#pragma once

#include "enums.h"
#include "types.h"

namespace AscendC {

namespace strict {
template <class T>
struct PadValue {
    using Type = T;
};
#if __NPU_ARCH__ == 3510
template <>
struct PadValue<fp8_e4m3fn_t> {
    using Type = uint8_t;
};
template <>
struct PadValue<fp8_e5m2_t> {
    using Type = uint8_t;
};
template <>
struct PadValue<fp8_e8m0_t> {
    using Type = uint8_t;
};
template <>
struct PadValue<hifloat8_t> {
    using Type = uint8_t;
};
template <>
struct PadValue<fp4x2_e2m1_t> {
    using Type = uint8_t;
};
#endif
}  // namespace strict

namespace detail {
template <class T>
using PadValue = typename strict::PadValue<T>::Type;
}  // namespace detail

#include "sim/include/ascendc/structs-inl.h"

// What a generic call of dav-3510 has besides.
struct BinaryConfig {
    int8_t scalarTensorIndex = 1;
};
constexpr BinaryConfig DEFAULT_BINARY_CONFIG = {1};
struct BinaryDefaultType {};

}  // namespace AscendC
