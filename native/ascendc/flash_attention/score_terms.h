// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What happens to scaled scores before the softmax: a bias is added, hidden keys become -inf.
#pragma once

#include "ascendc/flash_attention/hide.h"
#include "ascendc/flash_attention/rows.h"
#include "ascendc/flash_attention/statistics.h"
#include "ascendc/tile/shared/events.h"
#include "ascendc/tile/shared/handoff.h"
#include "geometry/merged_rows.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <class Traits>
class ScoreTerms {
    using Number = typename Traits::Bias;
    static constexpr int32_t kKeys = Traits::kKeys;

public:
    __aicore__ inline explicit ScoreTerms(const FlashAttentionParams& params) : params_(params) {}

    __aicore__ inline void Begin() {
        loads_.Prime();
    }
    __aicore__ inline void End() {
        loads_.Drain();
    }

    // What the step needs from GM, ahead of the scores.
    __aicore__ inline void Load(const Step& step, const Item& item, RowShare share) {
        if (!HasLoads()) return;
        loads_.WaitFree(0);
        const int64_t row = item.row_begin + share.begin;
        if (params_.mask != 0) {
            LoadRows<uint8_t>(Mask(), params_.mask, item.sequence[kSeqMaskOffset] + step.key, params_.mask_row_stride,
                              0, row, share.rows, step.keys);
        }
        if (params_.bias_kind == Bias::tensor) {
            LoadRows<Number>(BiasTile(), params_.bias,
                              item.sequence[kSeqBiasOffset] + item.kv_head * params_.group * params_.bias_head_stride +
                                  step.key,
                              params_.bias_row_stride, params_.bias_head_stride, row, share.rows, step.keys);
        }
        loads_.SetReady(0);
    }

    __aicore__ inline void Apply(const FloatTile& scores, const Step& step, const Item& item, RowShare share) {
        if (HasLoads()) loads_.WaitReady(0);
        if (params_.bias_kind == Bias::tensor) {
            const FloatTile bias = Ub<float>(Traits::kUbScratch, Traits::kVectorRows * kKeys);
            const int32_t count = share.rows * kKeys;
            VecCast(bias, BiasTile(), AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
            VecAdd(scores, scores, bias, count);
        } else if (params_.bias_kind != Bias::none) {
            AddSlopes(scores, step, item, share);
        }
        if (params_.mask != 0) HideMasked(scores, share.rows);
        if (HasLoads()) loads_.SetFree(0);
        HideTail(scores, step, share.rows, kKeys);
        const BandColumns seen = {item.Band(), item.sequence[kSeqKvLen]};
        HideUnseen(scores, step, item.row_begin + share.begin, share.rows, params_.group, kKeys, seen);
    }

private:
    __aicore__ inline bool HasLoads() const { return params_.mask != 0 || params_.bias_kind == Bias::tensor; }

    __aicore__ inline AscendC::LocalTensor<uint8_t> Mask() const {
        return Ub<uint8_t>(Traits::kUbAux, Traits::kVectorRows * kKeys);
    }
    __aicore__ inline AscendC::LocalTensor<Number> BiasTile() const {
        return Ub<Number>(Traits::kUbAux + Traits::kVectorRows * kKeys, Traits::kVectorRows * kKeys);
    }

    // Columns of the rows' own row in a tensor: element (head in the group, token, column) at origin + head *
    // head_stride + token * token_stride + column. Rows that share one (stride 0) are loaded one at a time.
    template <class T>
    __aicore__ inline void LoadRows(const AscendC::LocalTensor<T>& to, uint64_t tensor, int64_t origin,
                                    int64_t token_stride, int64_t head_stride, int64_t first, int32_t rows,
                                    int32_t columns) {
        for (int32_t row = 0; row < rows;) {
            const geometry::RowRun run = geometry::row_run(first + row, rows - row, params_.group);
            const int64_t stride = geometry::run_stride(params_.group, token_stride, head_stride);
            const bool fits =
                stride >= columns && stride * static_cast<int64_t>(sizeof(T)) < kMaxCopyStrideBytes;
            const int64_t at = origin + run.head * head_stride + run.token * token_stride;
            const AscendC::GlobalTensor<T> from =
                Gm<T>(tensor + static_cast<uint64_t>(at * static_cast<int64_t>(sizeof(T))));
            const int32_t count = static_cast<int32_t>(run.count);
            if (fits) {
                GmToUb(to[row * kKeys], from, count, columns, stride, kKeys);
            } else {
                for (int32_t i = 0; i < count; ++i) {
                    GmToUb(to[(row + i) * kKeys], from[static_cast<uint64_t>(i * stride)], 1, columns, columns, kKeys);
                }
            }
            row += count;
        }
    }

    // -slope * |key - token + distance|, or of its root.
    __aicore__ inline void AddSlopes(const FloatTile& scores, const Step& step, const Item& item, RowShare share) {
        const FloatTile distances = Ub<float>(Traits::kUbScratch, kKeys);
        const FloatTile slopes = Ub<float>(Traits::kUbScratch + kKeys * sizeof(float), kMaxGroup);
        const int64_t group = params_.group;
        const int64_t first = item.row_begin + share.begin;
        Order<AscendC::HardEvent::V_MTE2, 4>();
        Order<AscendC::HardEvent::S_MTE2, 0>();
        GmToUb(slopes, Gm<float>(params_.bias)[static_cast<uint64_t>(item.kv_head * group)], 1, params_.group,
               params_.group, RoundUp(params_.group, kFloatsPerBlock));
        Order<AscendC::HardEvent::MTE2_S, 0>();
        for (int32_t row = 0; row < share.rows; ++row) {
            const geometry::RowRun one = geometry::row_run(first + row, 1, group);
            const float slope = -slopes.GetValue(static_cast<uint32_t>(one.head));
            VecIndex(distances, static_cast<float>(step.key - one.token + params_.bias_distance), kKeys);
            VecAbs(distances, distances, kKeys);
            if (params_.bias_kind == Bias::slope_sqrt) {
                VecSqrt(distances, distances, kKeys);
            }
            VecMuls(distances, distances, slope, kKeys);
            VecAdd(scores[row * kKeys], scores[row * kKeys], distances, kKeys);
        }
        Order<AscendC::HardEvent::S_V, 0>();
    }

    // A byte of a mask hides its key if it is not 0. Bytes are compared as halves, which hold every one of them.
    __aicore__ inline void HideMasked(const FloatTile& scores, int32_t rows) {
        const AscendC::LocalTensor<half> bytes = Ub<half>(Traits::kUbScratch, Traits::kVectorRows * kKeys);
        const AscendC::LocalTensor<uint8_t> bits = Ub<uint8_t>(
            Traits::kUbScratch + Traits::kVectorRows * kKeys * sizeof(half), Traits::kVectorRows * kKeys / 8);
        static_assert(Traits::kVectorRows * kKeys * (sizeof(half) + 1) <= Traits::kScratchBytes, "bytes, then bits");
        static_assert(kKeys * sizeof(half) % kVectorBytes == 0, "a row is a whole number of compares");
        const int32_t count = rows * kKeys;
        VecCast(bytes, Mask(), AscendC::RoundMode::CAST_NONE, static_cast<uint32_t>(count));
        VecCompares(bits, bytes, static_cast<half>(0.0f), AscendC::CMPMODE::EQ, static_cast<uint32_t>(count));
        FillWhereZero(scores, bits, kMinusInfinity, count);
    }

    const FlashAttentionParams& params_;
    EventRing<AscendC::HardEvent::MTE2_V, AscendC::HardEvent::V_MTE2, 3, 1> loads_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
