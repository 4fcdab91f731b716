// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What vector cores do for quantised queries (schemes.h): products of codes become logits, exponentials become weights
// of 8 bits, and sums of products of codes become numbers that may join those of the steps before. What all products of
// a row share, the scale of its values and the weights' gain, is undone at its end.
#pragma once

#include "ascendc/flash_attention/quantised_scales.h"
#include "ascendc/flash_attention/statistics.h"
#include "ascendc/tile/shared/narrow.h"
#include "ascendc/tile/shared/softmax.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class Traits>
class Quantised {
    using Element = typename Traits::Element;
    static constexpr int32_t kKeys = Traits::kKeys;
    static constexpr Scheme kScheme = Traits::kScheme;
    static constexpr bool kIsRelativeToStep = kScheme == Scheme::mla;

public:
    __aicore__ inline explicit Quantised(const FlashAttentionParams& params) : params_(params), scales_(params) {}

    // What the step needs from GM, ahead of its scores.
    __aicore__ inline void Load(const Step& step, const Item& item, RowShare share) {
        if constexpr (kScheme != Scheme::per_tensor) {
            if (step.is_first) scales_.LoadRows(item, share);
        }
        if constexpr (kScheme == Scheme::gqa) scales_.LoadKeys(step, item);
    }

    // From what the cube has left; `rope`: the ropes' products, where they have a tile of their own. `scores` is where
    // `logits` will be, but for halves.
    __aicore__ inline void Logits(const FloatTile& logits, const AscendC::LocalTensor<typename Traits::Score>& scores,
                                  const FloatTile& rope, int32_t rows) {
        const int32_t count = rows * kKeys;
        if constexpr (kScheme == Scheme::per_tensor) {
            if (MayOverflow()) Clamp(scores, static_cast<half>(-kLargestHalf), static_cast<half>(kLargestHalf), count);
            VecMuls(scores, scores, static_cast<half>(params_.scale), count);
            VecCast(logits, scores, AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
        } else {
            if constexpr (Traits::kIsInteger) ToFloat(logits, count);
            if constexpr (Traits::kHasRopeScores) {
                if (params_.rope_dim > 0) VecAdd(logits, logits, rope, count);
            }
            RowBroadcast(Broadcast(), Statistic<Traits>(kRowScale), rows);
            ByRow<RowOperation::multiply>(logits, Broadcast(), rows, kKeys, kKeys);
            if constexpr (kScheme == Scheme::gqa) ByColumn<true>(logits, scales_.Keys(), rows, kKeys, kKeys);
        }
    }

    // After a bias has been added.
    __aicore__ inline void RoundLogits(const FloatTile& scores, int32_t rows) {
        if constexpr (kScheme == Scheme::per_tensor) {
            if (params_.bias_kind != Bias::none) RoundToHalf(scores, scores, Halves(), rows * kKeys);
        }
    }

    // Logits of `rows` rows become weights, row-major; the state takes them in. Logits are used up. `beta`: what the
    // step's products will be worth.
    __aicore__ inline void Weigh(const AscendC::LocalTensor<Element>& weights, const FloatTile& logits,
                                 const SoftmaxState& state, const FloatTile& beta, int32_t rows) {
        const float gain = WeightGain<Traits>(params_);
        const uint32_t count = static_cast<uint32_t>(rows * kKeys);
        if constexpr (kScheme == Scheme::per_tensor) {  // exponentials are fp16 before they are multiplied
            WeightTile<kKeys, false, false>(Halves(), logits, state, beta, 1.0f, rows);
            VecMuls(Halves(), Halves(), static_cast<half>(gain), rows * kKeys);
            if (gain > 127.0f || gain < -128.0f) {
                Clamp(Halves(), static_cast<half>(-128.0f), static_cast<half>(127.0f), rows * kKeys);
            }
            VecCast(weights, Halves(), AscendC::RoundMode::CAST_RINT, count);
        } else if constexpr (Traits::kIsInteger) {  // through fp16: there is no shorter way, and it is the scheme's
            WeightTile<kKeys, kIsRelativeToStep, true>(Halves(), logits, state, beta, gain, rows);
            VecCast(weights, Halves(), AscendC::RoundMode::CAST_RINT, count);
        } else {
            WeightTile<kKeys, kIsRelativeToStep, true>(logits, logits, state, beta, gain, rows);
            if (gain > Traits::kLargestWeight) VecMins(logits, logits, Traits::kLargestWeight, rows * kKeys);
            VecCast(weights, logits, kNearest<Element>, count);
        }
    }

    // The step's products of weights and values, rows `ld` apart, which is a multiple of 64.
    __aicore__ inline void Sums(const FloatTile& products, const FloatTile& beta, int32_t rows, int32_t columns,
                                int32_t ld) {
        if constexpr (Traits::kIsInteger) ToFloat(products, rows * ld);
        if constexpr (kIsRelativeToStep) {
            RowBroadcast(Broadcast(), beta, rows);
            ByRow<RowOperation::multiply>(products, Broadcast(), rows, columns, ld);
        }
    }

private:
    __aicore__ inline FloatTile Broadcast() const { return Ub<float>(Traits::kUbBroadcast, 64 * kFloatsPerBlock); }
    __aicore__ inline AscendC::LocalTensor<half> Halves() const {
        return Ub<half>(Traits::kUbScratch, Traits::kVectorRows * kKeys);
    }

    __aicore__ inline void ToFloat(const FloatTile& tile, int32_t count) {
        VecCast(tile, tile.template ReinterpretCast<int32_t>(), AscendC::RoundMode::CAST_RINT,
                static_cast<uint32_t>(count));
    }

    // Whether products of the largest codes leave fp16.
    __aicore__ inline bool MayOverflow() const {
        const float scale = PerTensorScoreScale(params_);
        const float largest = static_cast<float>(params_.dim) * 128.0f * 128.0f * (scale < 0 ? -scale : scale);
        return !(largest <= kLargestHalf);
    }

    const FlashAttentionParams& params_;
    QuantisedScales<Traits> scales_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
