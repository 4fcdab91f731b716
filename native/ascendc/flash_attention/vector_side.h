// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A vector core's half of the kernel: probabilities P from scores by the online softmax, and O = O * alpha + O_t. It
// has half of the rows of each tile. A row's maximum starts at the lowest finite number and hidden scores are -inf, so
// that exp() sees no difference of infinities; a row that has seen a key has a sum of at least 1, one that has not has
// 0.
#pragma once

#include "ascendc/flash_attention/dequant.h"
#include "ascendc/flash_attention/quantised.h"
#include "ascendc/flash_attention/row_output.h"
#include "ascendc/flash_attention/score_terms.h"
#include "ascendc/flash_attention/signals.h"
#include "ascendc/tile/shared/softmax.h"
#if __NPU_ARCH__ == 3510
#include "ascendc/tile/arch3510/cube.h"
#endif

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// In the place of what only some instantiations have.
struct Nothing {
    __aicore__ inline explicit Nothing(const FlashAttentionParams&) {}
};

// `Terms`: what happens to scores before the softmax. In sparse attention it also brings rows together.
template <class Traits, class Terms = ScoreTerms<Traits>>
class VectorSide {
    using Element = typename Traits::Element;
    using Item = typename Traits::Item;

public:
    __aicore__ inline VectorSide(const FlashAttentionParams& params, int64_t core, int32_t vector_core)
        : params_(params), memory_(params.core_memory + static_cast<uint64_t>(core * params.core_stride)),
          vector_core_(vector_core), terms_(params), quantised_(params), output_(params) {
        if constexpr (__NPU_ARCH__ == 2201) {
            scores_.Prime();
            products_.Prime();
        }
        probs_.Prime();
        terms_.Begin();
    }

    __aicore__ inline void Finish() {
        if constexpr (__NPU_ARCH__ == 2201) {
            scores_.Drain();
            products_.Drain();
        }
        probs_.Drain();
        terms_.End();
    }

    // The step's keys and values, if they are stored in another type, as the cube takes them.
    __aicore__ inline void Keys(const Step& step, const Item& item) {
        if constexpr (Traits::kIsSparse) {
            if (step.keys == 0 || !item.IsGathered(step.range)) return;
            terms_.Gather(step, item, ShareOf(step.keys, vector_core_),
                          memory_ + Traits::kGmKeys + static_cast<uint64_t>(step.key_slot) * Traits::kKeyBytes);
            KeysReady::template SetByVector<PIPE_MTE3>();
        } else if constexpr (Traits::kDequantises) {
            if (step.keys == 0) return;
            Dequantiser<Traits> dequantiser(params_, item, ShareOf(step.keys, vector_core_), step.key);
            const uint64_t slot = static_cast<uint64_t>(step.key_slot);
            dequantiser.Convert(params_.key, params_.key_scale, kKeyWords, Traits::kDim,
                                memory_ + Traits::kGmKeys + slot * Traits::kKeyBytes);
            dequantiser.Convert(params_.value, params_.value_scale, kValueWords, Traits::kDimV,
                                memory_ + Traits::kGmValues + slot * Traits::kValueBytes);
            KeysReady::template SetByVector<PIPE_MTE3>();
        }
    }

    __aicore__ inline void Probs(const Step& step, const Item& item) {
        const RowShare share = ShareOf(item.rows, vector_core_);
        if (step.is_first) {
            Fill(Largest(step.item_slot), kLowest, kFloatsPerVector);
            Fill(Sum(step.item_slot), 0.0f, kFloatsPerVector);
        }
        if (step.keys == 0) return;
        if (share.rows > 0) {
            terms_.Load(step, item, share);
            if constexpr (Traits::kIsQuantised) quantised_.Load(step, item, share);
        }
        TakeScores(step, share);
        if (share.rows > 0) {
            const FloatTile scores = ScoreTile(step);
            if constexpr (Traits::kIsQuantised) {
                quantised_.Logits(scores, RopeScoreTile(step), share.rows);
            } else {
                VecMuls(scores, scores, params_.scale, share.rows * Traits::kKeys);
            }
            terms_.Apply(scores, step, item, share);
            probs_.WaitFree(0);
            if constexpr (Traits::kIsQuantised) {
                quantised_.RoundLogits(scores, share.rows);
                quantised_.Weigh(ProbTile(), scores, State(step), Beta(step), share.rows);
            } else {
                SoftmaxTile<Traits::kKeys, Traits::kVectorRows>(ProbTile(), scores, State(step), share.rows);
            }
            if constexpr (__NPU_ARCH__ == 2201) scores_.SetFree(0);
        }
        GiveProbs(step, share);
    }

    __aicore__ inline void Products(const Step& step, const Item& item) {
        const RowShare share = ShareOf(item.rows, vector_core_);
        const FloatTile out = Out();
        if (step.is_first && share.rows > 0) Fill(out, 0.0f, share.rows * Traits::kDimV);
        if (step.keys > 0) {
            if (!step.is_first && share.rows > 0) {
                RescaleTile(out, State(step), share.rows, params_.dim_v, Traits::kDimV);
            }
            AddProducts(step, share);
        }
        if (!step.is_last || share.rows == 0) return;
        OutputRows<Traits> rows;
        rows.out = out;
        rows.largest = Largest(step.item_slot);
        rows.sum = Sum(step.item_slot);
        rows.first = item.row_begin + share.begin;
        rows.count = share.rows;
        if (item.partial_row < 0) {
            output_.Store(rows, item.sequence, item.kv_head);
        } else {
            output_.StorePartial(rows, item.partial_row + share.begin);
        }
    }

private:
    __aicore__ inline FloatTile ScoreTileAt(uint32_t address, const Step& step) const {
        const uint32_t slot = static_cast<uint32_t>(step.slot % Traits::kScoreSlots);
        return Ub<float>(address + slot * Traits::kScoreBytes, Traits::kVectorRows * Traits::kKeys);
    }
    __aicore__ inline FloatTile ScoreTile(const Step& step) const { return ScoreTileAt(Traits::kUbScores, step); }
    __aicore__ inline FloatTile RopeScoreTile(const Step& step) const {
        return ScoreTileAt(Traits::kHasRopeScores ? Traits::kUbRopeScores : Traits::kUbScores, step);
    }
    __aicore__ inline FloatTile ProductTile(int32_t buffer) const {
        return Ub<float>(Traits::kUbProducts + static_cast<uint32_t>(buffer) * Traits::kProductBytes,
                         Traits::kVectorRows * Traits::kProductColumns);
    }
    __aicore__ inline AscendC::LocalTensor<Element> ProbTile() const {
        return Ub<Element>(Traits::kUbProbs, Traits::kVectorRows * Traits::kKeys);
    }
    __aicore__ inline FloatTile Out() const { return Ub<float>(Traits::kUbOut, Traits::kVectorRows * Traits::kDimV); }

    // An item's, of which the next begins before the last one ends.
    __aicore__ inline FloatTile Largest(int32_t item_slot) const { return Statistic<Traits>(kLargest + item_slot); }
    __aicore__ inline FloatTile Sum(int32_t item_slot) const { return Statistic<Traits>(kSum + item_slot); }
    __aicore__ inline FloatTile Beta(const Step& step) const { return Statistic<Traits>(kBeta + step.slot); }
    __aicore__ inline SoftmaxState State(const Step& step) const {
        SoftmaxState state;
        state.largest = Largest(step.item_slot);
        state.sum = Sum(step.item_slot);
        state.alpha = Statistic<Traits>(kAlpha + step.slot);
        state.fresh = Statistic<Traits>(kFresh);
        state.broadcast = Ub<float>(Traits::kUbBroadcast, 64 * kFloatsPerBlock);
        state.scratch = Ub<float>(Traits::kUbScratch, Traits::kVectorRows * kFloatsPerVector);
        return state;
    }

    __aicore__ inline void TakeScores([[maybe_unused]] const Step& step, [[maybe_unused]] RowShare share) {
#if __NPU_ARCH__ == 2201
        ScoresReady::template WaitInVector<PIPE_MTE2>();
        if (share.rows == 0) return;
        scores_.WaitFree(0);
        FetchScores(ScoreTile(step), Traits::kGmScores, step, share);
        if (Traits::kHasRopeScores && params_.rope_dim > 0) {
            FetchScores(RopeScoreTile(step), Traits::kGmRopeScores, step, share);
        }
        scores_.SetReady(0);
        scores_.WaitReady(0);
#else
        ScoresReady::template WaitInVector<PIPE_V>();
#endif
    }

    __aicore__ inline void FetchScores(const FloatTile& to, uint32_t gm_offset, const Step& step, RowShare share) {
        const uint64_t address = memory_ + gm_offset + static_cast<uint64_t>(step.slot) * Traits::kGmScoreBytes;
        GmToUb(to, Gm<float>(address)[static_cast<uint64_t>(share.begin * Traits::kKeys)], share.rows, step.keys,
               Traits::kKeys, Traits::kKeys);
    }

    __aicore__ inline void GiveProbs(const Step& step, RowShare share) {
        if (share.rows > 0) {
            const AscendC::LocalTensor<Element> probs = ProbTile();
            probs_.SetReady(0);
            probs_.WaitReady(0);
#if __NPU_ARCH__ == 2201
            const uint64_t address =
                memory_ + Traits::kGmProbs + static_cast<uint64_t>(step.slot) * Traits::kGmProbBytes;
            UbToGm(Gm<Element>(address)[static_cast<uint64_t>(share.begin * Traits::kKeys)], probs, share.rows,
                   Traits::kKeys, Traits::kKeys, Traits::kKeys);
#else
            const uint32_t slot = static_cast<uint32_t>(step.slot % Traits::kProbSlots);
            const AscendC::LocalTensor<Element> to =
                L1<Element>(Traits::kL1Probs + slot * Traits::kProbBytes, Traits::kRows * Traits::kKeys);
            if constexpr (Traits::kIsQuantised) {
                UbRowsToL1(to, probs, share.rows, Traits::kKeys, share.begin, Traits::kRows);
            } else {
                UbToL1(to, probs, share.rows, Traits::kKeys, Traits::kVectorRows, share.begin, Traits::kRows);
            }
#endif
            probs_.SetFree(0);
        }
        ProbsReady::template SetByVector<PIPE_MTE3>();
    }

    __aicore__ inline void AddProducts(const Step& step, RowShare share) {
#if __NPU_ARCH__ == 2201
        ProductsReady::template WaitInVector<PIPE_MTE2>();
        if (share.rows == 0) return;
        const uint64_t address = memory_ + Traits::kGmProducts +
                                 static_cast<uint64_t>(step.slot) * Traits::kGmProductBytes +
                                 static_cast<uint64_t>(share.begin * Traits::kDimV) * sizeof(float);
        for (int32_t column = 0; column < params_.dim_v; column += Traits::kProductColumns) {
            const int32_t count = Min(Traits::kProductColumns, params_.dim_v - column);
            const FloatTile products = ProductTile(product_buffer_);
            products_.WaitFree(product_buffer_);
            GmToUb(products, Gm<float>(address)[static_cast<uint64_t>(column)], share.rows, count, Traits::kDimV,
                   Traits::kProductColumns);
            products_.SetReady(product_buffer_);
            products_.WaitReady(product_buffer_);
            if constexpr (Traits::kIsQuantised) {
                quantised_.Sums(products, Beta(step), share.rows, count, Traits::kProductColumns);
            }
            AddTile(Out()[column], products, share.rows, count, Traits::kDimV, Traits::kProductColumns);
            products_.SetFree(product_buffer_);
            product_buffer_ = (product_buffer_ + 1) % Traits::kProductBuffers;
        }
#else
        ProductsReady::template WaitInVector<PIPE_V>();
        if (share.rows == 0) return;
        const FloatTile products = ProductTile(step.slot % Traits::kProductSlots);
        if constexpr (Traits::kIsQuantised) {
            quantised_.Sums(products, Beta(step), share.rows, params_.dim_v, Traits::kProductColumns);
        }
        AddTile(Out(), products, share.rows, params_.dim_v, Traits::kDimV, Traits::kProductColumns);
#endif
    }

    const FlashAttentionParams& params_;
    const uint64_t memory_;
    const int32_t vector_core_;
    int32_t product_buffer_ = 0;
    Terms terms_;
    Choose<Traits::kIsQuantised, Quantised<Traits>, Nothing> quantised_;
    RowOutput<Traits> output_;
    EventRing<AscendC::HardEvent::MTE2_V, AscendC::HardEvent::V_MTE2, 0, 1> scores_;
    EventRing<AscendC::HardEvent::MTE2_V, AscendC::HardEvent::V_MTE2, 1, Traits::kProductBuffers> products_;
    EventRing<AscendC::HardEvent::V_MTE3, AscendC::HardEvent::MTE3_V, 0, 1> probs_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
