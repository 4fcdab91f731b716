// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scales of quantised queries, keys, values and weights. They are read where rows see keys; elsewhere there may be
// none.
#pragma once

#include "ascendc/flash_attention/numbers.h"
#include "ascendc/flash_attention/rows.h"
#include "ascendc/flash_attention/statistics.h"
#include "ascendc/tile/shared/handoff.h"
#include "geometry/merged_rows.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Of integer products, the device uses the upper 19 bits.
__aicore__ inline float TruncateScale(float scale) {
    uint32_t bits;
    __builtin_memcpy(&bits, &scale, sizeof bits);
    bits &= 0xffffe000u;
    __builtin_memcpy(&scale, &bits, sizeof bits);
    return scale;
}

// A number, or the lower half of a word, which is one.
__aicore__ inline float PerTensorScoreScale(const FlashAttentionParams& params) {
    return TruncateScale(ScaleAt(params.full_quant.key_scale, ScaleType::f32, 0));
}

// quant_scale1.
__aicore__ inline float WeightScale(const FlashAttentionParams& params) {
    if (params.full_quant.weight_scale == 0) return 1.0f;
    return ScaleAt(params.full_quant.weight_scale, ScaleType::f32, 0);
}

// What exponentials are multiplied by before they are rounded.
template <class Traits>
__aicore__ inline float WeightGain(const FlashAttentionParams& params) {
    if constexpr (Traits::kScheme == Scheme::per_tensor) {
        return static_cast<float>(static_cast<half>(WeightScale(params)));
    } else if constexpr (Traits::kScheme == Scheme::gqa) {
        return WeightScale(params);
    } else {
        return Traits::kLargestWeight;
    }
}

// What a row's result is multiplied by at its end. The per-tensor scheme's value scale has the gain in it.
template <class Traits>
__aicore__ inline float OutputFactor(const FlashAttentionParams& params, int64_t kv_head) {
    const int64_t index = Traits::kScheme == Scheme::gqa ? kv_head : 0;
    const float scale = ScaleAt(params.full_quant.value_scale, ScaleType::f32, index);
    if constexpr (Traits::kScheme == Scheme::per_tensor) {
        return scale;
    } else {
        return scale / WeightGain<Traits>(params);
    }
}

template <class Traits>
class QuantisedScales {
public:
    __aicore__ inline explicit QuantisedScales(const FlashAttentionParams& params) : params_(params) {}

    // The query rows', times all that is the same for the launch. A number at a time: heads and tokens of a block are
    // rarely behind one another, and there are at most 64.
    __aicore__ inline void LoadRows(const Item& item, RowShare share) {
        const FullQuantParams& quant = params_.full_quant;
        const FloatTile to = Statistic<Traits>(kRowScale);
        const int64_t first = item.sequence[kSeqQueryScaleOffset] + item.kv_head * quant.query_kv_head_stride;
        float common = params_.scale;
        if constexpr (Traits::kScheme == Scheme::mla) common *= ScaleAt(quant.key_scale, ScaleType::f32, 0);
        Order<AscendC::HardEvent::V_S, 0>();
        for (int32_t row = 0; row < share.rows; ++row) {
            const geometry::RowRun one = geometry::row_run(item.row_begin + share.begin + row, 1, params_.group);
            const int64_t at = first + one.token * quant.query_token_stride + one.head * quant.query_head_stride;
            to.SetValue(static_cast<uint32_t>(row), common * ScaleAt(quant.query_scale, ScaleType::f32, at));
        }
        Order<AscendC::HardEvent::S_V, 0>();
    }

    // The step's keys': one a token, behind one another in a page, which has a multiple of 8 tokens.
    __aicore__ inline void LoadKeys(const Step& step, const Item& item) {
        const FullQuantParams& quant = params_.full_quant;
        const FloatTile to = Keys();
        const int64_t head = item.kv_head * quant.key_head_stride;
        Order<AscendC::HardEvent::V_MTE2, 4>();
        for (int32_t key = 0; key < step.keys;) {
            const int64_t token = step.key + key;
            int32_t count = step.keys - key;
            int64_t at = head + token;
            if (params_.block_size > 0) {
                const PageRow row = PageRowOf(params_, item, token);
                at = head + row.block * quant.key_block_stride + row.inside;
                if (row.left < count) count = static_cast<int32_t>(row.left);
            } else {
                at += item.sequence[kSeqKeyScaleOffset];
            }
            GmToUb(to[static_cast<uint32_t>(key)], Gm<float>(quant.key_scale)[static_cast<uint64_t>(at)], 1, count,
                   count, RoundUp(count, kFloatsPerBlock));
            key += count;
        }
        Order<AscendC::HardEvent::MTE2_V, 4>();
    }

    // In the room of a bias, which the schemes that have them do not take.
    __aicore__ inline FloatTile Keys() const {
        return Ub<float>(Traits::kUbAux + Traits::kVectorRows * Traits::kKeys, Traits::kKeys);
    }

private:
    const FlashAttentionParams& params_;
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
