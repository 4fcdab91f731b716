// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a row that vector cores keep in UB, 64 rows of each.
#pragma once

#include "ascendc/flash_attention/traits.h"
#include "ascendc/tile/shared/memory.h"
#include "ascendc/tile/shared/vector.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

constexpr int32_t kMaxGroup = 1024;  // query heads of a KV head, whose sinks or slopes UB holds

enum StatisticIndex : int32_t {
    kLargest = 0,  // two: Step::item_slot
    kSum = 2,      // two, the same
    kAlpha = 4,    // two: Step::slot
    kFresh = 6,
    kSpareA = 7,
    kSpareB = 8,
    kSpareC = 9,
    kLse = 10,
    kBits = 11,
    kRowScale = 12,  // of quantised queries
    kBeta = 13,      // two: Step::slot. What the products of a step are worth under the maximum after it
};

template <class Traits>
__aicore__ inline FloatTile Statistic(int32_t index) {
    static_assert(kBits < Traits::kStatistics, "each has its place");
    return Ub<float>(Traits::kUbStatistics + static_cast<uint32_t>(index) * Traits::kStatisticBytes, 64);
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
