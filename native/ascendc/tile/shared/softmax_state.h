// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ascendc/tile/shared/memory.h"
#include "ascendc/tile/shared/vector.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// What a softmax over several tiles keeps of up to 64 rows, and what it needs for one tile.
struct SoftmaxState {
    FloatTile largest;    // of all scores so far; the lowest finite number before the first
    FloatTile sum;        // of exp(score - largest)
    FloatTile alpha;      // of a tile: what earlier products are worth under the new maximum
    FloatTile fresh;      // of a tile
    FloatTile broadcast;  // room for a block of 32 bytes a row
    FloatTile scratch;    // room for 64 numbers a row
};

// In memory form, with the largest score of each row of a tile in `fresh`: that becomes the maximum.
__aicore__ inline void TakeLargest(const SoftmaxState& state, int32_t rows) {
    VecMax(state.fresh, state.fresh, state.largest, rows);
    VecSub(state.alpha, state.largest, state.fresh, rows);
    VecExp(state.alpha, state.alpha, rows);
    VecAdds(state.largest, state.fresh, 0.0f, rows);
}

// Then scores become exp(score - the row's number in `broadcast`), whose sums are in `fresh` afterwards; the sum so far
// is taken under the new maximum.
template <int32_t kKeys>
__aicore__ inline void Exponentials(const FloatTile& scores, const SoftmaxState& state, int32_t rows) {
    ByRow<RowOperation::subtract>(scores, state.broadcast, rows, kKeys, kKeys);
    VecExp(scores, scores, rows * kKeys);
    VecMul(state.sum, state.sum, state.alpha, rows);
    RowSum(state.fresh, scores, state.scratch, rows, kKeys, kKeys);
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
