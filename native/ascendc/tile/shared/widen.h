// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The types that keys and values are stored in, and how each becomes fp32.
#pragma once

#include "ascendc/tile/shared/memory.h"
#include "ascendc/tile/shared/vector.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class T>
constexpr int32_t kHalfBytesOf = 2 * static_cast<int32_t>(sizeof(T));
template <>
inline constexpr int32_t kHalfBytesOf<AscendC::int4b_t> = 1;
#if __NPU_ARCH__ == 3510
template <>
inline constexpr int32_t kHalfBytesOf<fp4x2_e2m1_t> = 1;
#endif

// A single number, on the scalar unit.
__aicore__ inline float FromBfloat16(bfloat16_t number) { return AscendC::ToFloat(number); }

// What the 8 bits of an exponent without sign and fraction stand for.
__aicore__ inline float PowerOfTwo(uint8_t exponent) {
    constexpr uint32_t kSmallest = 0x00400000;  // 2^-127, below the normal numbers
    const uint32_t bits = exponent == 0 ? kSmallest : static_cast<uint32_t>(exponent) << 23;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// `narrow`: the address in UB of room for as many 16-bit numbers.
template <class T>
__aicore__ inline void Widen(const FloatTile& to, const AscendC::LocalTensor<T>& from, uint32_t narrow, int32_t count) {
    const AscendC::LocalTensor<half> halves = Ub<half>(narrow, static_cast<uint32_t>(count));
    VecCast(halves, from, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    VecCast(to, halves, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}

#if __NPU_ARCH__ == 3510
template <>
__aicore__ inline void Widen<fp8_e4m3fn_t>(const FloatTile& to, const AscendC::LocalTensor<fp8_e4m3fn_t>& from,
                                           uint32_t, int32_t count) {
    VecCast(to, from, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}

template <>
__aicore__ inline void Widen<fp4x2_e2m1_t>(const FloatTile& to, const AscendC::LocalTensor<fp4x2_e2m1_t>& from,
                                           uint32_t narrow, int32_t count) {
    const AscendC::LocalTensor<bfloat16_t> stored = Ub<bfloat16_t>(narrow, static_cast<uint32_t>(count));
    VecCast(stored, from, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    VecCast(to, stored, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}
#endif

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
