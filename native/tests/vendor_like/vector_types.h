// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The types that each generation has a vector call for: those of its documentation where the headers let others pass.
#pragma once

#include "tensors.h"

namespace AscendC::strict {

template <class T>
constexpr bool is_real = is_any_of<T, half, float>;

#if __NPU_ARCH__ == 2201
template <class T>
constexpr bool is_masked = is_any_of<T, half, float, int16_t, int32_t>;
template <class T>
constexpr bool is_added = is_masked<T>;
template <class T>
constexpr bool is_scalable = is_masked<T>;
template <class T>
constexpr bool is_bitwise = is_any_of<T, int16_t, uint16_t>;
template <class T>
constexpr bool is_comparable = is_any_of<T, half, float, int32_t>;
template <class T>
constexpr bool is_duplicable = is_any_of<T, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>;
#else
template <class T>
constexpr bool is_masked = is_any_of<T, half, float, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t>;
template <class T>  // by a count, 8 bits too, but in products
constexpr bool is_added = is_masked<T> || is_any_of<T, int8_t, uint8_t>;
template <class T>
constexpr bool is_scalable = is_any_of<T, half, bfloat16_t, float, int16_t, int32_t>;
template <class T>
constexpr bool is_bitwise = is_any_of<T, int16_t, uint16_t, int32_t, uint32_t>;
template <class T>
constexpr bool is_comparable =
    is_any_of<T, half, float, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
template <class T>
constexpr bool is_duplicable =
    is_any_of<T, int8_t, uint8_t, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>;
#endif

template <class D, class S>
__aicore__ constexpr bool is_cast() {
    if (std::is_same_v<S, float>) return is_any_of<D, half, bfloat16_t, float, int16_t, int32_t, int64_t
#if __NPU_ARCH__ == 3510
                                                   , fp8_e4m3fn_t, fp8_e5m2_t, hifloat8_t
#endif
                                                   >;
    if (std::is_same_v<S, half>) return is_any_of<D, float, int4b_t, int8_t, uint8_t, int16_t, int32_t
#if __NPU_ARCH__ == 3510
                                                  , bfloat16_t, hifloat8_t
#endif
                                                  >;
    if (std::is_same_v<S, bfloat16_t>) return is_any_of<D, float, int32_t
#if __NPU_ARCH__ == 3510
                                                        , half, fp4x2_e2m1_t, fp4x2_e1m2_t
#endif
                                                        >;
    if (std::is_same_v<S, int4b_t>) return is_any_of<D, half> || (k3510 && is_any_of<D, bfloat16_t, int16_t>);
    if (std::is_same_v<S, int8_t>) return is_any_of<D, half> || (k3510 && is_any_of<D, int16_t, int32_t>);
    if (std::is_same_v<S, uint8_t>) return is_any_of<D, half> || (k3510 && is_any_of<D, uint16_t, uint32_t>);
    if (std::is_same_v<S, int16_t>) return is_any_of<D, half, float>;
    if (std::is_same_v<S, int32_t>) return is_any_of<D, float, int16_t, int64_t>;
    if (std::is_same_v<S, int64_t>) return is_any_of<D, float, int32_t>;
#if __NPU_ARCH__ == 3510
    if (is_any_of<S, fp8_e4m3fn_t, fp8_e5m2_t>) return is_any_of<D, float>;
    if (std::is_same_v<S, hifloat8_t>) return is_any_of<D, half, float>;
    if (is_any_of<S, fp4x2_e2m1_t, fp4x2_e1m2_t>) return is_any_of<D, bfloat16_t>;
#endif
    return false;
}

}  // namespace AscendC::strict
