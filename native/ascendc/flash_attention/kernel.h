// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel: what each kind of core does with its steps, and then, where keys were split, with the merges.
#pragma once

#include "ascendc/flash_attention/cube_side.h"
#include "ascendc/flash_attention/merge_rows.h"
#include "ascendc/flash_attention/vector_side.h"
#include "ascendc/tile/shared/core.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Iteration i has the first stage of step i and the second of step i - 1, so that neither kind of core waits for the
// other as long as both take about as long (signals.h).
template <class Traits>
__aicore__ inline void RunCube(const typename Traits::Params& params, int64_t core) {
    using Window = StepsUnderWay<Traits, 0>;
    Window steps(params, core);
    CubeSide<Traits> side(Traits::Rows(params), core);
    while (steps.Advance()) {
        if (steps.Has(Window::kScoring)) side.Scores(steps.At(Window::kScoring), steps.ItemAt(Window::kScoring));
        if (steps.Has(Window::kSumming)) side.Products(steps.At(Window::kSumming), steps.ItemAt(Window::kSumming));
    }
    side.Finish();
}

// Further ahead, a vector core makes keys of the stored ones.
template <class Traits, class Side>
__aicore__ inline void RunVector(const typename Traits::Params& params, int64_t core, int32_t vector_core) {
    using Window = StepsUnderWay<Traits, Traits::kLead>;
    Window steps(params, core);
    Side side(Traits::Rows(params), core, vector_core);
    constexpr bool kProductsFirst = Traits::kProductSlots == 1 && __NPU_ARCH__ != 2201;
    while (steps.Advance()) {
        const bool has_products = steps.Has(Window::kSumming);
        const Step& summing = steps.At(Window::kSumming);
        if (steps.Has(Window::kPreparing)) {
            side.Keys(steps.At(Window::kPreparing), steps.ItemAt(Window::kPreparing));
        }
        if (kProductsFirst && has_products) side.Products(summing, steps.ItemAt(Window::kSumming));
        if (steps.Has(Window::kScoring)) side.Probs(steps.At(Window::kScoring), steps.ItemAt(Window::kScoring));
        if (!kProductsFirst && has_products) side.Products(summing, steps.ItemAt(Window::kSumming));
    }
    side.Finish();
}

template <class Traits, class Side = VectorSide<Traits>>
__aicore__ inline void RunKernel(const typename Traits::Params& params) {
    const FlashAttentionParams& rows = Traits::Rows(params);
    BeginKernel();
    const int64_t core = CoreNumber();
    if ASCEND_IS_AIC {
        RunCube<Traits>(params, core);
    }
    if ASCEND_IS_AIV {
        RunVector<Traits, Side>(params, core, VectorCoreOfCore());
        ClearPadding<Traits>(rows);
    }
    if (rows.merge_count > 0) {
        WaitForAllCores();
        if ASCEND_IS_AIV {
            MergeRows<Traits>(rows);
        }
    }
    EndKernel();
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
