// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// fp32 becomes the type of an output, rounded to nearest even (hifloat8: half away from 0), saturated in 8 bits.
#pragma once

#include "ascendc/tile/shared/memory.h"
#include "ascendc/tile/shared/vector.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

__aicore__ inline void Clamp(const FloatTile& tile, float lowest, float largest, int32_t count) {
    VecMaxs(tile, tile, lowest, count);
    VecMins(tile, tile, largest, count);
}

constexpr int32_t kNarrowStep = 4096;
constexpr float kLargestHalf = 65504.0f;

// fp32 numbers become fp16 numbers, still as fp32. `halves`: room for them.
__aicore__ inline void RoundToHalf(const FloatTile& to, const FloatTile& from, const AscendC::LocalTensor<half>& halves,
                                   int32_t count) {
    VecCast(halves, from, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    VecCast(to, halves, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}

// half or bfloat16_t. `room`: the address in UB of room for kNarrowStep numbers of 16 bits, which some types need.
template <class T>
__aicore__ inline void Narrow(const AscendC::LocalTensor<T>& to, const FloatTile& from, int32_t count, uint32_t) {
    VecCast(to, from, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
}

// There is no conversion from fp32: it is rounded to a whole number, which fp16 then holds exactly. `from` is used up.
template <>
__aicore__ inline void Narrow<int8_t>(const AscendC::LocalTensor<int8_t>& to, const FloatTile& from, int32_t count,
                                      uint32_t room) {
    const AscendC::LocalTensor<int32_t> whole = from.template ReinterpretCast<int32_t>();
    const AscendC::LocalTensor<half> halves = Ub<half>(room, kNarrowStep);
    Clamp(from, -128.0f, 127.0f, count);
    VecCast(whole, from, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    VecCast(from, whole, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    for (int32_t i = 0; i < count; i += kNarrowStep) {
        const uint32_t step = static_cast<uint32_t>(Min(kNarrowStep, count - i));
        VecCast(halves, from[static_cast<uint32_t>(i)], AscendC::RoundMode::CAST_NONE, step);
        VecCast(to[static_cast<uint32_t>(i)], halves, AscendC::RoundMode::CAST_RINT, step);
    }
}

#if __NPU_ARCH__ == 3510
template <>
__aicore__ inline void Narrow<fp8_e4m3fn_t>(const AscendC::LocalTensor<fp8_e4m3fn_t>& to, const FloatTile& from,
                                            int32_t count, uint32_t) {
    Clamp(from, -448.0f, 448.0f, count);
    VecCast(to, from, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
}

template <>
__aicore__ inline void Narrow<hifloat8_t>(const AscendC::LocalTensor<hifloat8_t>& to, const FloatTile& from,
                                          int32_t count, uint32_t) {
    Clamp(from, -32768.0f, 32768.0f, count);
    VecCast(to, from, AscendC::RoundMode::CAST_ROUND, static_cast<uint32_t>(count));
}
#endif

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
