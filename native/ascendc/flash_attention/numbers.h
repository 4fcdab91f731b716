// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Scales and offsets, in whatever type they are stored, as fp32.
#pragma once

#include "ascendc/flash_attention/params.h"
#include "ascendc/tile/shared/events.h"
#include "ascendc/tile/shared/widen.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Number `index` from `address` on, for the scalar unit.
__aicore__ inline float ScaleAt(uint64_t address, ScaleType type, int64_t index) {
    const uint64_t at = static_cast<uint64_t>(index);
    if (type == ScaleType::f32) return Gm<float>(address).GetValue(at);
    if (type == ScaleType::f16) return static_cast<float>(Gm<half>(address).GetValue(at));
    if (type == ScaleType::bf16) return FromBfloat16(Gm<bfloat16_t>(address).GetValue(at));
    return PowerOfTwo(Gm<uint8_t>(address).GetValue(at));
}

template <class T>
__aicore__ inline void LoadStoredNumbers(const FloatTile& to, uint32_t stored, uint64_t address, uint64_t first,
                                         int32_t count) {
    const AscendC::LocalTensor<T> narrow = Ub<T>(stored, static_cast<uint32_t>(RoundUp(count, kPerBlock<T>)));
    GmToUb(narrow, Gm<T>(address)[first], 1, count, count, RoundUp(count, kPerBlock<T>));
    Order<AscendC::HardEvent::MTE2_V, 4>();
    VecCast(to, narrow, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
}

// Numbers first .. first + count - 1 from `address` on, f32, f16 or bf16, for the vector unit. `stored`: the address in
// UB of room for as many 16-bit numbers.
__aicore__ inline void LoadNumbers(const FloatTile& to, uint32_t stored, uint64_t address, ScaleType type,
                                   uint64_t first, int32_t count) {
    Order<AscendC::HardEvent::V_MTE2, 4>();
    if (type == ScaleType::f16) {
        LoadStoredNumbers<half>(to, stored, address, first, count);
    } else if (type == ScaleType::bf16) {
        LoadStoredNumbers<bfloat16_t>(to, stored, address, first, count);
    } else {
        GmToUb(to, Gm<float>(address)[first], 1, count, count, RoundUp(count, kPerBlock<float>));
        Order<AscendC::HardEvent::MTE2_V, 4>();
    }
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
