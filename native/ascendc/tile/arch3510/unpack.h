// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows (formats/packed_row.h) to 16-bit numbers on dav-3510: one vector function, a tile of 64 codes in one
// register.
#pragma once

#include "ascendc/tile/arch3510/softmax.h"
#include "formats/packed_row.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

constexpr AscendC::Reg::CastTrait kWidenCodes = {AscendC::Reg::RegLayout::ZERO, AscendC::Reg::SatMode::UNKNOWN,
                                                 AscendC::Reg::MaskMergeMode::ZEROING, AscendC::RoundMode::UNKNOWN};

constexpr int32_t kPackedBytes = formats::kPackedRow.bytes;
constexpr int32_t kPackedCodes = formats::kPackedRow.codes;
constexpr int32_t kPackedScales = formats::kPackedRow.scales;
constexpr int32_t kPackedScaled = formats::kPackedRow.scaled;
constexpr int32_t kPackedTile = formats::kPackedRow.tile;
constexpr int32_t kUnpackedRow = kPackedScaled + formats::kPackedRope;
static_assert(kPackedTile == kFloatsPerVector && formats::kPackedRow.rope == 0, "a tile is a register, rope is first");

// `rows` packed rows behind one another, of which `codes` is the first code, `scales` the first scale, `rope` the first
// number; `wide` has room for a block a row. A scale is the exponent of an fp32: 0 is the largest subnormal power of
// two, 255 is NaN. First the scales of a row in one register, then its tiles.
template <class T, class Code>
__simd_vf__ inline void UnpackFunction(__ubuf__ T* to, __ubuf__ T* rope, __ubuf__ Code* codes,
                                       __ubuf__ uint8_t* scales, __ubuf__ float* wide, uint16_t rows, uint16_t tiles) {
    AscendC::Reg::RegTensor<Code> code;
    AscendC::Reg::RegTensor<uint8_t> bytes;
    AscendC::Reg::RegTensor<uint32_t> exponent;
    AscendC::Reg::RegTensor<uint32_t> smallest;
    AscendC::Reg::RegTensor<uint32_t> not_a_number;
    AscendC::Reg::RegTensor<float> scale;
    AscendC::Reg::RegTensor<float> number;
    AscendC::Reg::RegTensor<T> narrow;
    AscendC::Reg::MaskReg is_number;
    AscendC::Reg::MaskReg all = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::ALL>();
    AscendC::Reg::MaskReg of_scales = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::VL8>();
    AscendC::Reg::MaskReg of_rope = AscendC::Reg::CreateMask<T, AscendC::Reg::MaskPattern::VL64>();
    AscendC::Reg::Duplicate(smallest, static_cast<uint32_t>(0x00400000));
    AscendC::Reg::Duplicate(not_a_number, static_cast<uint32_t>(0x7fc00000));
    for (uint16_t row = 0; row < rows; ++row) {
        AscendC::Reg::LoadAlign<uint8_t, AscendC::Reg::LoadDist::DIST_UNPACK4_B8>(bytes, scales + row * kPackedBytes);
        AscendC::Reg::ShiftLefts(exponent, (AscendC::Reg::RegTensor<uint32_t>&)bytes, static_cast<int16_t>(23), all);
        AscendC::Reg::Max(exponent, exponent, smallest, all);
        AscendC::Reg::Compares<uint32_t, AscendC::CMPMODE::LT>(is_number, exponent, static_cast<uint32_t>(0x7f800000),
                                                               all);
        AscendC::Reg::Select(exponent, exponent, not_a_number, is_number);
        AscendC::Reg::StoreAlign<float>(wide + row * 8, (AscendC::Reg::RegTensor<float>&)exponent, of_scales);
    }
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    for (uint16_t row = 0; row < rows; ++row) {
        for (uint16_t tile = 0; tile < tiles; ++tile) {
            AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_BRC_B32>(scale, wide + row * 8 + tile);
            AscendC::Reg::LoadAlign<Code, AscendC::Reg::LoadDist::DIST_UNPACK4_B8>(
                code, codes + row * kPackedBytes + tile * kPackedTile);
            AscendC::Reg::Cast<float, Code, kWidenCodes>(number, code, all);
            AscendC::Reg::Mul(number, number, scale, all);
            AscendC::Reg::Cast<T, float, kNarrowEven>(narrow, number, all);
            AscendC::Reg::StoreAlign<T, AscendC::Reg::StoreDist::DIST_PACK_B32>(
                to + row * kUnpackedRow + tile * kPackedTile, narrow, all);
        }
        AscendC::Reg::LoadAlign<T>(narrow, rope + row * (kPackedBytes / 2));
        AscendC::Reg::StoreAlign<T>(to + row * kUnpackedRow + tiles * kPackedTile, narrow, of_rope);
    }
}

// `count` rows in UB: code * scale in fp32, rounded once, and rope numbers as they are. `scales`: room for a block of
// 32 bytes a row.
template <class T, class Code>
__aicore__ inline void UnpackRows(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<Code>& rows,
                                  const FloatTile& scales, int32_t count) {
    static_assert(sizeof(T) == 2 && sizeof(Code) == 1, "rope numbers have the type of the result");
    asc_vf_call<UnpackFunction<T, Code>>(
        (__ubuf__ T*)to.GetPhyAddr(), (__ubuf__ T*)rows.GetPhyAddr(),
        (__ubuf__ Code*)rows[static_cast<uint32_t>(kPackedCodes)].GetPhyAddr(),
        (__ubuf__ uint8_t*)rows[static_cast<uint32_t>(kPackedScales)].GetPhyAddr(),
        (__ubuf__ float*)scales.GetPhyAddr(), static_cast<uint16_t>(count),
        static_cast<uint16_t>(kPackedScaled / kPackedTile));
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
