// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors at fixed places, and copies between GM and UB. Sizes and strides count elements unless said otherwise.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// A number's bits, as where a parameter is one.
__aicore__ inline uint32_t BitsOf(float number) {
    uint32_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    return bits;
}

template <class T>
__aicore__ inline AscendC::LocalTensor<T> Ub(uint32_t address, uint32_t elements) {
    return AscendC::LocalTensor<T>(AscendC::TPosition::VECCALC, address, elements);
}
template <class T>
__aicore__ inline AscendC::LocalTensor<T> L1(uint32_t address, uint32_t elements) {
    return AscendC::LocalTensor<T>(AscendC::TPosition::A1, address, elements);
}
template <class T>
__aicore__ inline AscendC::LocalTensor<T> L0a(uint32_t address, uint32_t elements) {
    return AscendC::LocalTensor<T>(AscendC::TPosition::A2, address, elements);
}
template <class T>
__aicore__ inline AscendC::LocalTensor<T> L0b(uint32_t address, uint32_t elements) {
    return AscendC::LocalTensor<T>(AscendC::TPosition::B2, address, elements);
}
template <class T>
__aicore__ inline AscendC::LocalTensor<T> L0c(uint32_t address, uint32_t elements) {
    return AscendC::LocalTensor<T>(AscendC::TPosition::CO1, address, elements);
}

// `address`: of element 0, as a number.
template <class T>
__aicore__ inline AscendC::GlobalTensor<T> Gm(uint64_t address) {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor;
}

// Rows of `columns` elements, `gm_ld` apart in GM and `ub_ld` in UB, where rows start at blocks. What lies between a
// row's end and the next block has no defined content.
template <class T>
__aicore__ inline void GmToUb(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from, int32_t rows,
                              int32_t columns, int64_t gm_ld, int32_t ub_ld) {
    AscendC::DataCopyExtParams copy;
    const int32_t size = static_cast<int32_t>(sizeof(T));
    copy.blockCount = static_cast<uint16_t>(rows);
    copy.blockLen = static_cast<uint32_t>(columns * size);
    copy.srcStride = static_cast<uint32_t>((gm_ld - columns) * size);
    copy.dstStride = static_cast<uint32_t>((ub_ld - RoundUp(columns, kPerBlock<T>)) / kPerBlock<T>);
    AscendC::DataCopyPadExtParams<T> pad;
    pad.isPad = false;
    AscendC::DataCopyPad(to, from, copy, pad);
}

template <class T>
__aicore__ inline void UbToGm(const AscendC::GlobalTensor<T>& to, const AscendC::LocalTensor<T>& from, int32_t rows,
                              int32_t columns, int64_t gm_ld, int32_t ub_ld) {
    AscendC::DataCopyExtParams copy;
    const int32_t size = static_cast<int32_t>(sizeof(T));
    copy.blockCount = static_cast<uint16_t>(rows);
    copy.blockLen = static_cast<uint32_t>(columns * size);
    copy.srcStride = static_cast<uint32_t>((ub_ld - RoundUp(columns, kPerBlock<T>)) / kPerBlock<T>);
    copy.dstStride = static_cast<uint32_t>((gm_ld - columns) * size);
    AscendC::DataCopyPad(to, from, copy);
}

// The largest distance between rows that GmToUb and UbToGm take: 32 bits of bytes, kept well below.
constexpr int64_t kMaxCopyStrideBytes = int64_t{1} << 31;

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
