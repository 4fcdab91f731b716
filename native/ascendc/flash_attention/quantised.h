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
#include "ascendc/tile/shared/softmax_state.h"

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

    // What the cube has left, in place; `rope`: the ropes' products, where they have a tile of their own.
    __aicore__ inline void Logits(const FloatTile& scores, const FloatTile& rope, int32_t rows) {
        const int32_t count = rows * kKeys;
        if constexpr (Traits::kIsInteger) ToFloat(scores, count);
        if constexpr (Traits::kHasRopeScores) {
            if (params_.rope_dim > 0) VecAdd(scores, scores, rope, count);
        }
        if constexpr (kScheme == Scheme::per_tensor) {
            VecMuls(scores, scores, PerTensorScoreScale(params_), count);
            Clamp(scores, -kLargestHalf, kLargestHalf, count);
            RoundToHalf(scores, scores, Halves(), count);
            VecMuls(scores, scores, params_.scale, count);
            RoundToHalf(scores, scores, Halves(), count);
        } else {
            RowBroadcast(Broadcast(), Statistic<Traits>(kRowScale), rows);
            ByRow<RowOperation::multiply>(scores, Broadcast(), rows, kKeys, kKeys);
        }
        if constexpr (kScheme == Scheme::gqa) ByColumn<true>(scores, scales_.Keys(), rows, kKeys, kKeys);
    }

    // After a bias has been added.
    __aicore__ inline void RoundLogits(const FloatTile& scores, int32_t rows) {
        if constexpr (kScheme == Scheme::per_tensor) {
            if (params_.bias_kind != Bias::none) RoundToHalf(scores, scores, Halves(), rows * kKeys);
        }
    }

    // Logits of `rows` rows become weights, row-major; the state takes them in. Logits are used up. `beta`: what the
    // step's products will be worth.
    __aicore__ inline void Weigh(const AscendC::LocalTensor<Element>& weights, const FloatTile& scores,
                                 const SoftmaxState& state, const FloatTile& beta, int32_t rows) {
        RowMax(state.fresh, scores, state.scratch, rows, kKeys, kKeys);
        if constexpr (kIsRelativeToStep) {
            VecMaxs(beta, state.fresh, kLowest, rows);  // of a row that sees none of the step's keys
            TakeLargest(state, rows);
            RowBroadcast(state.broadcast, beta, rows);
            VecSub(beta, beta, state.largest, rows);
            VecExp(beta, beta, rows);
        } else {
            TakeLargest(state, rows);
            RowBroadcast(state.broadcast, state.largest, rows);
        }
        Exponentials<kKeys>(scores, state, rows);
        if constexpr (kIsRelativeToStep) VecMul(state.fresh, state.fresh, beta, rows);
        VecAdd(state.sum, state.sum, state.fresh, rows);
        Round(weights, scores, rows * kKeys);
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

    // Integers go through fp16, as there is no shorter way, and as the schemes say.
    __aicore__ inline void Round(const AscendC::LocalTensor<Element>& weights, const FloatTile& scores,
                                 int32_t count) {
        if constexpr (kScheme == Scheme::per_tensor) RoundToHalf(scores, scores, Halves(), count);
        VecMuls(scores, scores, WeightGain<Traits>(params_), count);
        if constexpr (Traits::kIsInteger) {
            Clamp(scores, -128.0f, 127.0f, count);
            VecCast(Halves(), scores, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
            VecCast(weights, Halves(), AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(count));
        } else {
            Narrow(weights, scores, count, Traits::kUbScratch);
        }
    }

    const FlashAttentionParams& params_;
    QuantisedScales<Traits> scales_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
