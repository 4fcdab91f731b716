// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies between GM, L1 and UB.
#pragma once

#include "tensors.h"

namespace AscendC {
namespace strict {

template <class T>
__aicore__ constexpr void check_pad() {
#if __NPU_ARCH__ == 2201
    static_assert(is_any_of<T, int8_t, uint8_t, half, bfloat16_t, int16_t, uint16_t, float, int32_t, uint32_t, int64_t,
                            uint64_t, double>,
                  "DataCopyPad: expected a type that this chip copies");
#else
    static_assert(sizeof(T) <= 8 && !is_any_of<T, int4b_t>, "DataCopyPad: expected a type that this chip copies");
#endif
}

template <class T>
__aicore__ constexpr void check_nz() {
#if __NPU_ARCH__ == 2201
    static_assert(is_any_of<T, int8_t, uint8_t, half, bfloat16_t, int16_t, uint16_t, float, int32_t, uint32_t, int4b_t>,
                  "DataCopy to NZ: expected a type that this chip copies");
#endif
}

}  // namespace strict

template <typename T>
__aicore__ void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& repeatParams);
#if __NPU_ARCH__ == 3510
template <typename T, bool enableSmallC0 = false>
#else
template <typename T>
#endif
__aicore__ inline void DataCopy(const LocalTensor<T>&, const GlobalTensor<T>&, const Nd2NzParams&) {
    strict::check_nz<T>();
}
template <typename T>
__aicore__ void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams);
template <typename T>
__aicore__ void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams);
template <typename T, typename U>
__aicore__ void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& repeatParams);
template <typename T>
__aicore__ void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count);
template <typename T>
__aicore__ void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count);
template <typename T>
__aicore__ void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count);

#if __NPU_ARCH__ == 3510
template <typename T, PaddingMode mode = PaddingMode::Normal>
#else
template <typename T>
#endif
__aicore__ inline void DataCopyPad(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyExtParams&,
                                   const DataCopyPadExtParams<T>&) {
    strict::check_pad<T>();
}
#if __NPU_ARCH__ == 3510
template <typename T, PaddingMode mode = PaddingMode::Normal>
#else
template <typename T>
#endif
__aicore__ inline void DataCopyPad(const GlobalTensor<T>&, const LocalTensor<T>&, const DataCopyExtParams&) {
    strict::check_pad<T>();
}

template <typename T, bool isSetMask = true>
__aicore__ void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                     const uint8_t repeatTime, const CopyRepeatParams& repeatParams);
template <typename T, bool isSetMask = true>
__aicore__ void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
                     const uint8_t repeatTime, const CopyRepeatParams& repeatParams);

}  // namespace AscendC
