// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The softmax of a tile, and products under a new maximum, on dav-3510: one vector function each, so that scores are
// read twice and never written, where the memory form passes over them eight times. Two registers hold a row of 128
// numbers.
#pragma once

#include "ascendc/tile/shared/softmax_state.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Even columns go to the lower halves of 32-bit lanes, odd ones to the upper halves.
constexpr AscendC::Reg::CastTrait kNarrowEven = {AscendC::Reg::RegLayout::ZERO, AscendC::Reg::SatMode::NO_SAT,
                                                 AscendC::Reg::MaskMergeMode::ZEROING, AscendC::RoundMode::CAST_RINT};
constexpr AscendC::Reg::CastTrait kNarrowOdd = {AscendC::Reg::RegLayout::ONE, AscendC::Reg::SatMode::NO_SAT,
                                                AscendC::Reg::MaskMergeMode::ZEROING, AscendC::RoundMode::CAST_RINT};

// Probabilities leave in NZ, blocks of 16 columns `rows_pad` blocks apart. Each part reads what the one before has
// stored, hence the barriers.
template <class T>
__simd_vf__ inline void SoftmaxFunction(__ubuf__ T* probs, __ubuf__ float* scores, __ubuf__ float* largest,
                                        __ubuf__ float* sum, __ubuf__ float* alpha, __ubuf__ float* fresh,
                                        uint16_t rows, uint32_t rows_pad) {
    AscendC::Reg::RegTensor<float> low;
    AscendC::Reg::RegTensor<float> high;
    AscendC::Reg::RegTensor<float> one;
    AscendC::Reg::RegTensor<float> total;
    AscendC::Reg::RegTensor<T> narrow_low;
    AscendC::Reg::RegTensor<T> narrow_high;
    uint32_t left = rows;
    AscendC::Reg::MaskReg of_rows = AscendC::Reg::UpdateMask<float>(left);
    AscendC::Reg::MaskReg all = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::ALL>();
    AscendC::Reg::MaskReg all_narrow = AscendC::Reg::CreateMask<T, AscendC::Reg::MaskPattern::ALL>();
    // The largest score of each row.
    for (uint16_t row = 0; row < rows; ++row) {
        AscendC::Reg::LoadAlign<float>(low, scores + row * 128);
        AscendC::Reg::LoadAlign<float>(high, scores + row * 128 + 64);
        AscendC::Reg::Max(low, low, high, all);
        AscendC::Reg::Reduce<AscendC::Reg::ReduceType::MAX>(one, low, all);
        AscendC::Reg::StoreAlign<float, AscendC::Reg::StoreDist::DIST_FIRST_ELEMENT_B32>(fresh + row, one, all);
    }
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    // Of all rows at once: the new maximum, and what the sum so far is worth under it.
    AscendC::Reg::LoadAlign<float>(low, largest);
    AscendC::Reg::LoadAlign<float>(high, fresh);
    AscendC::Reg::LoadAlign<float>(total, sum);
    AscendC::Reg::Max(high, high, low, of_rows);
    AscendC::Reg::ExpSub(one, low, high, of_rows);
    AscendC::Reg::Mul(total, total, one, of_rows);
    AscendC::Reg::StoreAlign<float>(largest, high, of_rows);
    AscendC::Reg::StoreAlign<float>(alpha, one, of_rows);
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    // The probabilities, and their sum, of which none is rounded.
    for (uint16_t row = 0; row < rows; ++row) {
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_DINTLV_B32>(low, high, scores + row * 128);
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_BRC_B32>(one, largest + row);
        AscendC::Reg::ExpSub(low, low, one, all);
        AscendC::Reg::ExpSub(high, high, one, all);
        AscendC::Reg::Cast<T, float, kNarrowEven>(narrow_low, low, all);
        AscendC::Reg::Cast<T, float, kNarrowOdd>(narrow_high, high, all);
        AscendC::Reg::Or((AscendC::Reg::RegTensor<uint16_t>&)narrow_low,
                         (AscendC::Reg::RegTensor<uint16_t>&)narrow_low,
                         (AscendC::Reg::RegTensor<uint16_t>&)narrow_high, all_narrow);
        AscendC::Reg::StoreAlign<T, AscendC::Reg::DataCopyMode::DATA_BLOCK_COPY>(probs + row * 16, narrow_low,
                                                                                  rows_pad, all_narrow);
        AscendC::Reg::Add(low, low, high, all);
        AscendC::Reg::Reduce<AscendC::Reg::ReduceType::SUM>(one, low, all);
        AscendC::Reg::StoreAlign<float, AscendC::Reg::StoreDist::DIST_FIRST_ELEMENT_B32>(fresh + row, one, all);
    }
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    AscendC::Reg::LoadAlign<float>(one, fresh);
    AscendC::Reg::Add(total, total, one, of_rows);
    AscendC::Reg::StoreAlign<float>(sum, total, of_rows);
}

// Scores of `rows` rows and kKeys columns become probabilities, not divided by their sum, in NZ with kRowsPad rows; the
// state takes them in.
template <int32_t kKeys, int32_t kRowsPad, class T>
__aicore__ inline void SoftmaxTile(const AscendC::LocalTensor<T>& probs, const FloatTile& scores,
                                   const SoftmaxState& state, int32_t rows) {
    static_assert(kKeys == 128 && sizeof(T) == 2, "a row is two registers wide, and one narrow one");
    asc_vf_call<SoftmaxFunction<T>>(
        (__ubuf__ T*)probs.GetPhyAddr(), (__ubuf__ float*)scores.GetPhyAddr(),
        (__ubuf__ float*)state.largest.GetPhyAddr(), (__ubuf__ float*)state.sum.GetPhyAddr(),
        (__ubuf__ float*)state.alpha.GetPhyAddr(), (__ubuf__ float*)state.fresh.GetPhyAddr(),
        static_cast<uint16_t>(rows), static_cast<uint32_t>(kRowsPad));
}

// Rows `ld` apart, columns in registers of 64, the last of which may be part of the room between rows.
__simd_vf__ inline void RescaleFunction(__ubuf__ float* out, __ubuf__ float* alpha, uint16_t rows, uint16_t registers,
                                        uint32_t ld) {
    AscendC::Reg::RegTensor<float> part;
    AscendC::Reg::RegTensor<float> factor;
    AscendC::Reg::MaskReg all = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::ALL>();
    for (uint16_t row = 0; row < rows; ++row) {
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_BRC_B32>(factor, alpha + row);
        for (uint16_t i = 0; i < registers; ++i) {
            AscendC::Reg::LoadAlign<float>(part, out + row * ld + i * 64);
            AscendC::Reg::Mul(part, part, factor, all);
            AscendC::Reg::StoreAlign<float>(out + row * ld + i * 64, part, all);
        }
    }
}

// out = out * alpha, row by row.
__aicore__ inline void RescaleTile(const FloatTile& out, const SoftmaxState& state, int32_t rows, int32_t columns,
                                   int32_t ld) {
    const int32_t registers = RoundUp(columns, kFloatsPerVector) / kFloatsPerVector;
    asc_vf_call<RescaleFunction>((__ubuf__ float*)out.GetPhyAddr(), (__ubuf__ float*)state.alpha.GetPhyAddr(),
                                 static_cast<uint16_t>(rows), static_cast<uint16_t>(registers),
                                 static_cast<uint32_t>(ld));
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
