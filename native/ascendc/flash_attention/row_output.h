// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a row: the sink joins the sum, the sum divides, the result is rounded and stored, with its LSE. Or, where
// the row's keys are split among items, its unfinished state is stored, and merged later.
#pragma once

#include "ascendc/flash_attention/numbers.h"
#include "ascendc/flash_attention/quantised_scales.h"
#include "ascendc/flash_attention/statistics.h"
#include "ascendc/flash_attention/steps.h"
#include "ascendc/tile/shared/narrow.h"
#include "ascendc/tile/shared/events.h"
#include "geometry/merged_rows.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// `count` merged rows from `first` on; `out` is what is summed so far, not divided.
template <class Traits>
struct OutputRows {
    FloatTile out;
    FloatTile largest;
    FloatTile sum;
    int64_t first;
    int32_t count;
};

template <class Traits>
class RowOutput {
    using Element = typename Traits::Out;
    using Rows = OutputRows<Traits>;

public:
    __aicore__ inline explicit RowOutput(const FlashAttentionParams& params) : params_(params) {}

    __aicore__ inline void StorePartial(const Rows& rows, int64_t partial_row) {
        Order<AscendC::HardEvent::V_MTE3, 1>();
        const uint64_t row = static_cast<uint64_t>(partial_row);
        UbToGm(Gm<float>(params_.partial_out)[row * Traits::kDimV], rows.out, rows.count, params_.dim_v, Traits::kDimV,
               Traits::kDimV);
        UbToGm(Gm<float>(params_.partial_max)[row], rows.largest, 1, rows.count, rows.count,
               RoundUp(rows.count, kFloatsPerBlock));
        UbToGm(Gm<float>(params_.partial_sum)[row], rows.sum, 1, rows.count, rows.count,
               RoundUp(rows.count, kFloatsPerBlock));
        Order<AscendC::HardEvent::MTE3_V, 1>();
    }

    __aicore__ inline void Store(const Rows& rows, const int64_t* sequence, int64_t kv_head) {
        const int32_t count = rows.count;
        const FloatTile lse = Statistic<Traits>(kLse);
        const FloatTile divisor = Statistic<Traits>(kSpareA);
        if (params_.sink != 0) JoinSink(rows, kv_head);
        // A sum below 1 belongs to a row that has seen no key, whose result is 0 whatever it is divided by.
        VecMaxs(divisor, rows.sum, 1.0f, count);
        RowBroadcast(Broadcast(), RoundedDivisor(divisor), count);
        ByRow<RowOperation::divide>(rows.out, Broadcast(), count, params_.dim_v, Traits::kDimV);
        if constexpr (Traits::kIsQuantised) {
            if (sequence[kSeqKvLen] > 0) {
                VecMuls(rows.out, rows.out, OutputFactor<Traits>(params_, kv_head), count * Traits::kDimV);
            }
        }
        if (params_.lse != 0) {
            VecLn(lse, divisor, count);
            VecAdd(lse, lse, rows.largest, count);
            FillWhereZero(lse, Seen(rows.sum), Traits::kEmptyLse, kFloatsPerVector);
            RowBroadcast(Broadcast(), lse, count);
        }
        if (params_.out_type == OutType::element) {
            StoreAs<Element>(rows, sequence, kv_head);
            return;
        }
        if constexpr (Traits::kIsQuantised) {
            StoreAs<half>(rows, sequence, kv_head);
        } else {
            StoreQuantised(rows, sequence, kv_head);
        }
    }

private:
    __aicore__ inline void StoreQuantised(const Rows& rows, const int64_t* sequence, int64_t kv_head) {
        Quantise(rows, kv_head);
        if (params_.out_type == OutType::i8) StoreAs<int8_t>(rows, sequence, kv_head);
#if __NPU_ARCH__ == 3510
        if (params_.out_type == OutType::f8_e4m3) StoreAs<fp8_e4m3fn_t>(rows, sequence, kv_head);
        if (params_.out_type == OutType::hif8) StoreAs<hifloat8_t>(rows, sequence, kv_head);
#endif
    }

    // One scheme divides by a sum in fp16.
    __aicore__ inline FloatTile RoundedDivisor(const FloatTile& divisor) {
        if constexpr (Traits::kScheme == Scheme::per_tensor) {
            const FloatTile rounded = Statistic<Traits>(kSpareB);
            RoundToHalf(rounded, divisor, Ub<half>(Traits::kUbScratch, kFloatsPerVector), kFloatsPerVector);
            return rounded;
        } else {
            return divisor;
        }
    }

    __aicore__ inline FloatTile Broadcast() const { return Ub<float>(Traits::kUbBroadcast, 64 * kFloatsPerBlock); }

    // A bit for each of 64 rows: whether it has seen a key.
    __aicore__ inline AscendC::LocalTensor<uint8_t> Seen(const FloatTile& sum) {
        const AscendC::LocalTensor<uint8_t> bits =
            Ub<uint8_t>(Traits::kUbStatistics + kBits * Traits::kStatisticBytes, kBlockBytes);
        VecCompares(bits, sum, 0.5f, AscendC::CMPMODE::GT, static_cast<uint32_t>(kFloatsPerVector));
        return bits;
    }

    // One more logit, that of the row's head: sum and maximum become those with it. A row that has seen no key has
    // none.
    __aicore__ inline void JoinSink(const Rows& rows, int64_t kv_head) {
        const int64_t group = params_.group;
        const int32_t group_size = params_.group;
        const FloatTile sinks = Ub<float>(Traits::kUbScratch + kMaxGroup * sizeof(Element), kMaxGroup);
        static_assert(kMaxGroup * (sizeof(Element) + sizeof(float)) <= Traits::kScratchBytes, "sinks fit the scratch");
        const FloatTile logits = Statistic<Traits>(kSpareB);
        const FloatTile top = Statistic<Traits>(kSpareC);
        const AscendC::LocalTensor<uint8_t> seen = Seen(rows.sum);  // before the sum becomes anything
        LoadNumbers(sinks, Traits::kUbScratch, params_.sink, Traits::kSinkType, static_cast<uint64_t>(kv_head * group),
                    group_size);
        Fill(logits, kLowest, kFloatsPerVector);
        Order<AscendC::HardEvent::V_S, 0>();
        for (int32_t row = 0; row < rows.count; ++row) {
            const geometry::RowRun one = geometry::row_run(rows.first + row, 1, group);
            logits.SetValue(static_cast<uint32_t>(row), sinks.GetValue(static_cast<uint32_t>(one.head)));
        }
        Order<AscendC::HardEvent::S_V, 0>();
        FillWhereZero(logits, seen, kLowest, kFloatsPerVector);
        VecMax(top, rows.largest, logits, rows.count);
        VecSub(rows.largest, rows.largest, top, rows.count);
        VecSub(logits, logits, top, rows.count);
        VecExp(rows.largest, rows.largest, rows.count);
        VecExp(logits, logits, rows.count);
        RowBroadcast(Broadcast(), rows.largest, rows.count);
        ByRow<RowOperation::multiply>(rows.out, Broadcast(), rows.count, params_.dim_v, Traits::kDimV);
        VecMul(rows.sum, rows.sum, rows.largest, rows.count);
        FillWhereZero(logits, seen, 0.0f, kFloatsPerVector);
        VecAdd(rows.sum, rows.sum, logits, rows.count);
        VecAdds(rows.largest, top, 0.0f, rows.count);
    }

    // y = x * scale + offset; rows that have seen no key stay 0.
    __aicore__ inline void Quantise(const Rows& rows, int64_t kv_head) {
        const FloatTile seen = Statistic<Traits>(kSpareA);
        if (params_.out_channel_stride == 0) {
            const float scale = ScaleAt(params_.out_scale, params_.out_scale_type, 0);
            VecMuls(rows.out, rows.out, scale, rows.count * Traits::kDimV);
            if (params_.out_offset != 0) {
                const float offset = ScaleAt(params_.out_offset, params_.out_scale_type, 0);
                VecAdds(rows.out, rows.out, offset, rows.count * Traits::kDimV);
            }
        } else {
            QuantiseByChannel(rows, kv_head);
        }
        VecMins(seen, rows.sum, 1.0f, rows.count);
        const FloatTile broadcast = Ub<float>(Traits::kUbScratch, 64 * kFloatsPerBlock);  // the other one holds the LSE
        RowBroadcast(broadcast, seen, rows.count);
        ByRow<RowOperation::multiply>(rows.out, broadcast, rows.count, params_.dim_v, Traits::kDimV);
    }

    // Channels have their own numbers in each head: rows of one head take them together.
    __aicore__ inline void QuantiseByChannel(const Rows& rows, int64_t kv_head) {
        const int64_t group = params_.group;
        for (int32_t row = 0; row < rows.count;) {
            const geometry::RowRun run = geometry::row_run(rows.first + row, rows.count - row, group);
            const int32_t count = group == 1 ? static_cast<int32_t>(run.count) : 1;
            const uint64_t at = static_cast<uint64_t>((kv_head * group + run.head) * params_.dim_v);
            const FloatTile tile = rows.out[static_cast<uint32_t>(row * Traits::kDimV)];
            const FloatTile numbers = Ub<float>(Traits::kUbScratch, Traits::kDimV);
            LoadNumbers(numbers, Traits::kUbScratch + Traits::kDimV * sizeof(float), params_.out_scale,
                        params_.out_scale_type, at, params_.dim_v);
            ByColumn<true>(tile, numbers, count, params_.dim_v, Traits::kDimV);
            if (params_.out_offset != 0) {
                LoadNumbers(numbers, Traits::kUbScratch + Traits::kDimV * sizeof(float), params_.out_offset,
                            params_.out_scale_type, at, params_.dim_v);
                ByColumn<false>(tile, numbers, count, params_.dim_v, Traits::kDimV);
            }
            row += count;
        }
    }

    template <class Out>
    __aicore__ inline void StoreAs(const Rows& rows, const int64_t* sequence, int64_t kv_head) {
        constexpr uint32_t kNumbers = Traits::kVectorRows * Traits::kDimV;
        const int32_t count = rows.count * Traits::kDimV;
        const AscendC::LocalTensor<Out> narrow = Ub<Out>(Traits::kUbScratch, kNumbers);
        static_assert(sizeof(Out) == 2 || kNumbers + kNarrowStep * 2 <= Traits::kScratchBytes,
                      "the scratch holds the output, and the room behind it");
        Narrow(narrow, rows.out, count, Traits::kUbScratch + kNumbers);
        Order<AscendC::HardEvent::V_MTE3, 1>();
        StoreRows(narrow, rows, sequence, kv_head);
        Order<AscendC::HardEvent::MTE3_V, 1>();
    }

    template <class Out>
    __aicore__ inline void StoreRows(const AscendC::LocalTensor<Out>& narrow, const Rows& rows,
                                     const int64_t* sequence, int64_t kv_head) {
        const int64_t group = params_.group;
        const int64_t stride = geometry::run_stride(group, params_.out_token_stride, params_.out_head_stride);
        const int64_t lse_stride = geometry::run_stride(group, params_.lse_token_stride, params_.lse_head_stride);
        for (int32_t row = 0; row < rows.count;) {
            const geometry::RowRun run = geometry::row_run(rows.first + row, rows.count - row, group);
            const int32_t count = static_cast<int32_t>(run.count);
            const int64_t head = kv_head * group + run.head;
            const int64_t at =
                sequence[kSeqOutOffset] + run.token * params_.out_token_stride + head * params_.out_head_stride;
            UbToGm(Gm<Out>(params_.out)[static_cast<uint64_t>(at)], narrow[row * Traits::kDimV], count,
                   params_.dim_v, stride, Traits::kDimV);
            if (params_.lse != 0) {
                const int64_t lse_at =
                    sequence[kSeqLseOffset] + run.token * params_.lse_token_stride + head * params_.lse_head_stride;
                UbToGm(Gm<float>(params_.lse)[static_cast<uint64_t>(lse_at)], Broadcast()[row * kFloatsPerBlock],
                       count, 1, lse_stride, kFloatsPerBlock);
            }
            row += count;
        }
    }

    const FlashAttentionParams& params_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
