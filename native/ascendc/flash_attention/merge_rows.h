// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What vector cores do besides items: they merge rows whose keys were split, in the order of the keys so that the
// result does not depend on who was first, and clear rows that belong to a sequence but hold no token.
#pragma once

#include "ascendc/flash_attention/row_output.h"
#include "ascendc/tile/shared/core.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class Traits>
class RowMerger {
public:
    __aicore__ inline explicit RowMerger(const FlashAttentionParams& params) : params_(params), output_(params) {}

    // Merged rows first .. first + count - 1 of the merge, whose partials of split 0 begin at `partial_row` and of the
    // next ones `split_stride` rows further on.
    __aicore__ inline void Merge(const int64_t* sequence, int64_t kv_head, int64_t first, int32_t count, int64_t splits,
                                 int64_t partial_row, int64_t split_stride) {
        const FloatTile out = Ub<float>(Traits::kUbOut, Traits::kVectorRows * Traits::kDimV);
        const FloatTile largest = Statistic<Traits>(kLargest);
        const FloatTile sum = Statistic<Traits>(kSum);
        Fill(out, 0.0f, count * Traits::kDimV);
        Fill(largest, kLowest, kFloatsPerVector);
        Fill(sum, 0.0f, kFloatsPerVector);
        for (int64_t split = 0; split < splits; ++split) {
            Add(out, largest, sum, static_cast<uint64_t>(partial_row + split * split_stride), count);
        }
        OutputRows<Traits> rows;
        rows.out = out;
        rows.largest = largest;
        rows.sum = sum;
        rows.first = first;
        rows.count = count;
        output_.Store(rows, sequence, kv_head);
    }

private:
    __aicore__ inline void Add(const FloatTile& out, const FloatTile& largest, const FloatTile& sum, uint64_t row,
                               int32_t count) {
        const FloatTile part_largest = Statistic<Traits>(kSpareA);
        const FloatTile part_sum = Statistic<Traits>(kSpareB);
        const FloatTile top = Statistic<Traits>(kFresh);
        const FloatTile tile = Ub<float>(Traits::kUbProducts, Traits::kVectorRows * Traits::kChunk);
        const FloatTile part_factors = Ub<float>(Traits::kUbScores, 64 * kFloatsPerBlock);
        const FloatTile factors = Ub<float>(Traits::kUbBroadcast, 64 * kFloatsPerBlock);
        const int32_t padded = RoundUp(count, kFloatsPerBlock);
        Order<AscendC::HardEvent::V_MTE2, 4>();
        GmToUb(part_largest, Gm<float>(params_.partial_max)[row], 1, count, count, padded);
        GmToUb(part_sum, Gm<float>(params_.partial_sum)[row], 1, count, count, padded);
        Order<AscendC::HardEvent::MTE2_V, 4>();
        VecMax(top, largest, part_largest, count);
        VecSub(largest, largest, top, count);
        VecSub(part_largest, part_largest, top, count);
        VecExp(largest, largest, count);
        VecExp(part_largest, part_largest, count);
        VecMul(sum, sum, largest, count);
        VecMul(part_sum, part_sum, part_largest, count);
        VecAdd(sum, sum, part_sum, count);
        RowBroadcast(factors, largest, count);
        RowBroadcast(part_factors, part_largest, count);
        VecAdds(largest, top, 0.0f, count);
        ByRow<RowOperation::multiply>(out, factors, count, params_.dim_v, Traits::kDimV);
        for (int32_t column = 0; column < params_.dim_v; column += Traits::kChunk) {
            const int32_t columns = Min(Traits::kChunk, params_.dim_v - column);
            Order<AscendC::HardEvent::V_MTE2, 4>();
            GmToUb(tile, Gm<float>(params_.partial_out)[row * Traits::kDimV + static_cast<uint64_t>(column)], count,
                   columns, Traits::kDimV, Traits::kChunk);
            Order<AscendC::HardEvent::MTE2_V, 4>();
            ByRow<RowOperation::multiply>(tile, part_factors, count, columns, Traits::kChunk);
            AddTile(out[column], tile, count, columns, Traits::kDimV, Traits::kChunk);
        }
    }

    const FlashAttentionParams& params_;
    RowOutput<Traits> output_;
};

// The merges, shared out among all vector cores.
template <class Traits>
__aicore__ inline void MergeRows(const FlashAttentionParams& params) {
    RowMerger<Traits> merger(params);
    const AscendC::GlobalTensor<int64_t> words = Gm<int64_t>(params.merges);
    const int64_t cores = VectorCoreCount();
    int64_t sequence[kSequenceWords];
    for (int64_t merge = VectorCoreNumber(); merge < params.merge_count; merge += cores) {
        const uint64_t at = static_cast<uint64_t>(merge * kMergeWords);
        const int64_t begin = words.GetValue(at + kMergeRowBegin);
        const int64_t rows = words.GetValue(at + kMergeRowEnd) - begin;
        const int64_t partial_row = words.GetValue(at + kMergePartialRow);
        ReadSequence(params, words.GetValue(at + kMergeSequence), sequence);
        for (int64_t row = 0; row < rows; row += Traits::kVectorRows) {
            const int64_t left = rows - row;
            const int32_t count = static_cast<int32_t>(left < Traits::kVectorRows ? left : Traits::kVectorRows);
            merger.Merge(sequence, words.GetValue(at + kMergeKvHead), begin + row, count,
                         words.GetValue(at + kMergeSplits), partial_row + row, rows);
        }
    }
}

// Output rows before a sequence's first token and after its last become 0, their LSE that of a row that sees nothing.
// `Out` is as wide as an element of the output: zeros are zeros in all types.
template <class Traits, class Out>
__aicore__ inline void ClearPaddingOf(const FlashAttentionParams& params) {
    const FloatTile lse = Ub<float>(Traits::kUbScores, Traits::kVectorRows * kFloatsPerBlock);
    const FloatTile zeros = Ub<float>(Traits::kUbOut, Traits::kVectorRows * Traits::kDimV);
    const AscendC::LocalTensor<Out> rows = zeros.template ReinterpretCast<Out>();
    Order<AscendC::HardEvent::V_MTE2, 4>();
    Order<AscendC::HardEvent::MTE2_V, 4>();
    Fill(lse, Traits::kEmptyLse, Traits::kVectorRows * kFloatsPerBlock);
    Fill(zeros, 0.0f, Traits::kVectorRows * Traits::kDimV);
    Order<AscendC::HardEvent::V_MTE3, 1>();
    const AscendC::GlobalTensor<int64_t> clears = Gm<int64_t>(params.clears);
    const int64_t cores = VectorCoreCount();
    int64_t sequence[kSequenceWords];
    for (int64_t i = 0; i < params.clear_count; ++i) {
        ReadSequence(params, clears.GetValue(static_cast<uint64_t>(i)), sequence);
        const int64_t before = sequence[kSeqPadBefore];
        const int64_t count = before + sequence[kSeqPadAfter];
        for (int64_t n = VectorCoreNumber(); n < count; n += cores) {
            const int64_t token = n < before ? n - before : sequence[kSeqQueryLen] + n - before;
            for (int32_t head = 0; head < params.heads; head += Traits::kVectorRows) {
                const int32_t heads = Min(Traits::kVectorRows, params.heads - head);
                const int64_t at = sequence[kSeqOutOffset] + token * params.out_token_stride +
                                   head * params.out_head_stride;
                UbToGm(Gm<Out>(params.out)[static_cast<uint64_t>(at)], rows, heads, params.dim_v,
                       params.out_head_stride, Traits::kDimV);
                if (params.lse == 0) continue;
                const int64_t lse_at = sequence[kSeqLseOffset] + token * params.lse_token_stride +
                                       head * params.lse_head_stride;
                UbToGm(Gm<float>(params.lse)[static_cast<uint64_t>(lse_at)], lse, heads, 1,
                       params.lse_head_stride, kFloatsPerBlock);
            }
        }
    }
    Order<AscendC::HardEvent::MTE3_V, 1>();
}

template <class Traits>
__aicore__ inline void ClearPadding(const FlashAttentionParams& params) {
    if (params.clear_count == 0) return;
    if (params.out_type == OutType::element || params.out_type == OutType::f16) {
        ClearPaddingOf<Traits, typename Traits::Out>(params);
    } else {
        ClearPaddingOf<Traits, int8_t>(params);
    }
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
