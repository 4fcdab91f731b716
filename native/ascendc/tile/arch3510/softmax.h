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

// Probabilities of 16 bits leave in blocks of 16 columns, a row's `block_step` blocks apart and rows `row_step`
// elements; those of 32 bits row-major. kOwn: they are relative to the largest score of the tile, and `beta` becomes
// what they are worth under the maximum. kHasGain: they are multiplied by `gain`, but not in their sum. Each part reads
// what the one before has stored, hence the barriers.
template <class T, bool kOwn, bool kHasGain>
__simd_vf__ inline void SoftmaxFunction(__ubuf__ T* probs, __ubuf__ float* scores, __ubuf__ float* largest,
                                        __ubuf__ float* sum, __ubuf__ float* alpha, __ubuf__ float* fresh,
                                        __ubuf__ float* beta, float gain, uint16_t rows, uint32_t row_step,
                                        uint32_t block_step) {
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
    if constexpr (kOwn) {  // the lowest number, where a row sees none of the keys
        AscendC::Reg::Maxs(high, high, kLowest, of_rows);
        AscendC::Reg::StoreAlign<float>(beta, high, of_rows);
    }
    AscendC::Reg::Max(high, high, low, of_rows);
    AscendC::Reg::ExpSub(one, low, high, of_rows);
    AscendC::Reg::Mul(total, total, one, of_rows);
    AscendC::Reg::StoreAlign<float>(largest, high, of_rows);
    AscendC::Reg::StoreAlign<float>(alpha, one, of_rows);
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    // The probabilities, and their sum, of which none is rounded.
    __ubuf__ float* reference = kOwn ? beta : largest;
    for (uint16_t row = 0; row < rows; ++row) {
        if constexpr (sizeof(T) == sizeof(float)) {
            AscendC::Reg::LoadAlign<float>(low, scores + row * 128);
            AscendC::Reg::LoadAlign<float>(high, scores + row * 128 + 64);
        } else {
            AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_DINTLV_B32>(low, high, scores + row * 128);
        }
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_BRC_B32>(one, reference + row);
        AscendC::Reg::ExpSub(low, low, one, all);
        AscendC::Reg::ExpSub(high, high, one, all);
        AscendC::Reg::Add(one, low, high, all);
        AscendC::Reg::Reduce<AscendC::Reg::ReduceType::SUM>(one, one, all);
        AscendC::Reg::StoreAlign<float, AscendC::Reg::StoreDist::DIST_FIRST_ELEMENT_B32>(fresh + row, one, all);
        if constexpr (kHasGain) {
            AscendC::Reg::Muls(low, low, gain, all);
            AscendC::Reg::Muls(high, high, gain, all);
        }
        if constexpr (sizeof(T) == sizeof(float)) {
            AscendC::Reg::StoreAlign<float>(probs + row * 128, low, all);
            AscendC::Reg::StoreAlign<float>(probs + row * 128 + 64, high, all);
        } else {
            AscendC::Reg::Cast<T, float, kNarrowEven>(narrow_low, low, all);
            AscendC::Reg::Cast<T, float, kNarrowOdd>(narrow_high, high, all);
            AscendC::Reg::Or((AscendC::Reg::RegTensor<uint16_t>&)narrow_low,
                             (AscendC::Reg::RegTensor<uint16_t>&)narrow_low,
                             (AscendC::Reg::RegTensor<uint16_t>&)narrow_high, all_narrow);
            AscendC::Reg::StoreAlign<T, AscendC::Reg::DataCopyMode::DATA_BLOCK_COPY>(probs + row * row_step, narrow_low,
                                                                                      block_step, all_narrow);
        }
    }
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    AscendC::Reg::LoadAlign<float>(one, fresh);
    if constexpr (kOwn) {
        AscendC::Reg::LoadAlign<float>(low, beta);
        AscendC::Reg::LoadAlign<float>(high, largest);
        AscendC::Reg::ExpSub(low, low, high, of_rows);
        AscendC::Reg::StoreAlign<float>(beta, low, of_rows);
        AscendC::Reg::Mul(one, one, low, of_rows);
    }
    AscendC::Reg::Add(total, total, one, of_rows);
    AscendC::Reg::StoreAlign<float>(sum, total, of_rows);
}

template <bool kOwn, bool kHasGain, class T>
__aicore__ inline void CallSoftmax(const AscendC::LocalTensor<T>& probs, const FloatTile& scores,
                                   const SoftmaxState& state, const FloatTile& beta, float gain, int32_t rows,
                                   uint32_t row_step, uint32_t block_step) {
    asc_vf_call<SoftmaxFunction<T, kOwn, kHasGain>>(
        (__ubuf__ T*)probs.GetPhyAddr(), (__ubuf__ float*)scores.GetPhyAddr(),
        (__ubuf__ float*)state.largest.GetPhyAddr(), (__ubuf__ float*)state.sum.GetPhyAddr(),
        (__ubuf__ float*)state.alpha.GetPhyAddr(), (__ubuf__ float*)state.fresh.GetPhyAddr(),
        (__ubuf__ float*)beta.GetPhyAddr(), gain, static_cast<uint16_t>(rows), row_step, block_step);
}

// Scores of `rows` rows and kKeys columns become probabilities, not divided by their sum, in NZ with kRowsPad rows; the
// state takes them in.
template <int32_t kKeys, int32_t kRowsPad, class T>
__aicore__ inline void SoftmaxTile(const AscendC::LocalTensor<T>& probs, const FloatTile& scores,
                                   const SoftmaxState& state, int32_t rows) {
    static_assert(kKeys == 128 && sizeof(T) == 2, "a row is two registers wide, and one narrow one");
    CallSoftmax<false, false>(probs, scores, state, state.alpha, 1.0f, rows, kPerBlock<T>,
                              static_cast<uint32_t>(kRowsPad));
}

// Row-major, times `gain`: half, or float in the place of the scores. kOwn: relative to the largest score of a row in
// the tile, and `beta` says what that is worth under the maximum.
template <int32_t kKeys, bool kOwn, bool kHasGain, class T>
__aicore__ inline void WeightTile(const AscendC::LocalTensor<T>& weights, const FloatTile& scores,
                                  const SoftmaxState& state, const FloatTile& beta, float gain, int32_t rows) {
    static_assert(kKeys == 128, "a row is two registers wide");
    CallSoftmax<kOwn, kHasGain>(weights, scores, state, kOwn ? beta : state.alpha, gain, rows,
                                static_cast<uint32_t>(kKeys), 1);
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
