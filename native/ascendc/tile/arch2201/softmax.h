// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The softmax of a tile, and products under a new maximum, on dav-2201.
#pragma once

#include "ascendc/tile/shared/softmax_state.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// Scores of `rows` rows and kKeys columns become probabilities, not divided by their sum, row-major; the state takes
// them in. Scores are used up. `kRowsPad` has a meaning on the other architecture.
template <int32_t kKeys, int32_t kRowsPad, class T>
__aicore__ inline void SoftmaxTile(const AscendC::LocalTensor<T>& probs, const FloatTile& scores,
                                   const SoftmaxState& state, int32_t rows) {
    RowMax(state.fresh, scores, state.scratch, rows, kKeys, kKeys);
    TakeLargest(state, rows);
    RowBroadcast(state.broadcast, state.largest, rows);
    Exponentials<kKeys>(scores, state, rows);
    VecAdd(state.sum, state.sum, state.fresh, rows);
    VecCast(probs, scores, AscendC::RoundMode::CAST_RINT, static_cast<uint32_t>(rows * kKeys));
}

// out = out * alpha, row by row.
__aicore__ inline void RescaleTile(const FloatTile& out, const SoftmaxState& state, int32_t rows, int32_t columns,
                                   int32_t ld) {
    RowBroadcast(state.broadcast, state.alpha, rows);
    ByRow<RowOperation::multiply>(out, state.broadcast, rows, columns, ld);
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
