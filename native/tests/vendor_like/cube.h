// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cube: loads to L0, products, Fixpipe.
#pragma once

#include "tensors.h"

namespace AscendC {
namespace strict {

template <class C, class A, class B>
__aicore__ constexpr bool is_product() {
    if constexpr (std::is_same_v<C, int32_t>) {
        return (is_any_of<A, int8_t> && is_any_of<B, int8_t>) ||
               (!k3510 && is_any_of<A, int4b_t> && is_any_of<B, int4b_t>);
    } else if constexpr (std::is_same_v<C, float>) {
#if __NPU_ARCH__ == 3510
        if (is_any_of<A, fp8_e4m3fn_t, fp8_e5m2_t> && is_any_of<B, fp8_e4m3fn_t, fp8_e5m2_t>) return true;
        if (is_any_of<A, hifloat8_t> && is_any_of<B, hifloat8_t>) return true;
#endif
        return std::is_same_v<A, B> && is_any_of<A, half, bfloat16_t, float>;
    }
    return false;
}

template <class T>
__aicore__ constexpr bool is_operand() {
#if __NPU_ARCH__ == 3510
    return is_any_of<T, int8_t, uint8_t, half, bfloat16_t, float, int32_t, uint32_t, fp8_e4m3fn_t, fp8_e5m2_t,
                     hifloat8_t, fp4x2_e2m1_t, fp4x2_e1m2_t>;
#else
    return is_any_of<T, uint8_t, int8_t, uint16_t, int16_t, half, bfloat16_t, uint32_t, int32_t, float, int4b_t>;
#endif
}

// L0C holds float or int32_t.
template <class T, class U>
__aicore__ constexpr bool is_outlet() {
#if __NPU_ARCH__ == 3510
    if (std::is_same_v<U, float> && is_any_of<T, fp8_e4m3fn_t, hifloat8_t>) return true;
    if (std::is_same_v<U, int32_t> && is_any_of<T, bfloat16_t>) return true;
#endif
    return std::is_same_v<U, float> ? is_any_of<T, float, half, bfloat16_t, int8_t, uint8_t>
                                    : std::is_same_v<U, int32_t> && is_any_of<T, int32_t, half, int8_t, uint8_t>;
}

}  // namespace strict

template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParams&) {
    static_assert(strict::is_operand<T>(), "LoadData: expected a type that this chip loads");
}
#if __NPU_ARCH__ == 3510
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParamsV2&) {
    static_assert(strict::is_operand<T>(), "LoadData: expected a type that this chip loads");
}
#endif
template <typename T>
__aicore__ void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                      const LoadData2dTransposeParams& loadDataParams);

template <typename T, typename U, typename S>
__aicore__ inline void Mmad(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&, const MmadParams&) {
    static_assert(strict::is_product<T, U, S>(), "Mmad: expected types that this chip multiplies");
}
template <typename T, typename U, typename S, typename V>
__aicore__ inline void Mmad(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&, const LocalTensor<V>&,
                            const MmadParams&) {
    static_assert(strict::is_product<T, U, S>(), "Mmad: expected types that this chip multiplies");
}

#if __NPU_ARCH__ == 2201
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>&, const LocalTensor<U>&, const FixpipeParamsV220&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
    static_assert(config.format == CO2Layout::NZ, "Fixpipe to L1: expected CFG_NZ");
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>&, const LocalTensor<U>&, const FixpipeParamsV220&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t,
          typename std::enable_if<std::is_same<S, uint64_t>::value, bool>::type = true>
__aicore__ inline void Fixpipe(const GlobalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&,
                               const FixpipeParamsV220&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
}
template <typename T, typename U = T, typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>
__aicore__ void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams);
#else
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>&, const LocalTensor<U>&,
                               const FixpipeParamsArch3510<config.format>&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<uint64_t>&,
                               const FixpipeParamsArch3510<config.format>&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>&, const LocalTensor<U>&,
                               const FixpipeParamsArch3510<config.format>&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
    static_assert(!config.isToUB, "Fixpipe to GM: expected a configuration without isToUB");
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>&, const LocalTensor<U>&, const LocalTensor<uint64_t>&,
                               const FixpipeParamsArch3510<config.format>&) {
    static_assert(strict::is_outlet<T, U>(), "Fixpipe: expected types that this chip converts");
}
#endif

}  // namespace AscendC
