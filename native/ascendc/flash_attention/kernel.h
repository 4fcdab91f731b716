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
    Steps<Traits> steps(params, core);
    CubeSide<Traits> side(Traits::Rows(params), core);
    Step now = {};
    Step before = {};
    bool has_before = false;
    bool has_now = steps.Next(&now);
    while (has_now || has_before) {
        if (has_now) side.Scores(now, steps.items[now.item]);
        if (has_before) side.Products(before, steps.items[before.item]);
        before = now;
        has_before = has_now;
        has_now = has_now && steps.Next(&now);
    }
    side.Finish();
}

// One step further ahead, a vector core makes keys of the stored ones.
template <class Traits, class Side>
__aicore__ inline void RunVector(const typename Traits::Params& params, int64_t core, int32_t vector_core) {
    Steps<Traits> steps(params, core);
    Side side(Traits::Rows(params), core, vector_core);
    constexpr bool kProductsFirst = Traits::kProductSlots == 1 && __NPU_ARCH__ != 2201;
    Step next = {};
    Step now = {};
    Step before = {};
    bool has_before = false;
    bool has_now = false;
    bool has_next = steps.Next(&next);
    while (has_next || has_now || has_before) {
        if (has_next) side.Keys(next, steps.items[next.item]);
        if (kProductsFirst && has_before) side.Products(before, steps.items[before.item]);
        if (has_now) side.Probs(now, steps.items[now.item]);
        if (!kProductsFirst && has_before) side.Products(before, steps.items[before.item]);
        before = now;
        has_before = has_now;
        now = next;
        has_now = has_next;
        has_next = has_next && steps.Next(&next);
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
