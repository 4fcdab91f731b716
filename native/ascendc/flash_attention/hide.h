// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Scores of keys that a row does not see become -inf.
#pragma once

#include "ascendc/flash_attention/steps.h"
#include "ascendc/tile/shared/handoff.h"
#include "ascendc/tile/shared/vector.h"
#include "geometry/band.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// The keys that a band lets a token see.
struct BandColumns {
    geometry::Band band;
    int64_t len;

    __aicore__ inline geometry::Columns Of(int64_t token) const {
        return geometry::columns_between(band, token, token, len);
    }
};

__aicore__ inline int32_t ClipColumn(int64_t column, int32_t columns) {
    return column < 0 ? 0 : column > columns ? columns : static_cast<int32_t>(column);
}

// Columns behind the step's last key.
__aicore__ inline void HideTail(const FloatTile& scores, const Step& step, int32_t rows, int32_t ld) {
    if (step.keys == ld) return;
    FillColumns(scores, kMinusInfinity, rows, step.keys, ld, ld);
    VectorBarrier();
}

// Merged rows from `first` on, `group` of each token. `seen.Of(token)`: the keys that the token sees; both ends grow
// with the token, so what the first and the last one see in common, all see.
template <class Seen>
__aicore__ inline void HideUnseen(const FloatTile& scores, const Step& step, int64_t first, int32_t rows, int64_t group,
                                  int32_t ld, const Seen& seen) {
    const int64_t begin_of_all = seen.Of((first + rows - 1) / group).begin;
    const int64_t end_of_all = seen.Of(first / group).end;
    if (begin_of_all <= step.key && end_of_all >= step.key + step.keys) return;
    for (int32_t row = 0; row < rows;) {
        const int64_t token = (first + row) / group;
        const int64_t same = (token + 1) * group - first - row;
        const int32_t count = static_cast<int32_t>(same < rows - row ? same : rows - row);
        const geometry::Columns columns = seen.Of(token);
        const int32_t begin = ClipColumn(columns.begin - step.key, step.keys);
        const int32_t stop = Max(begin, ClipColumn(columns.end - step.key, step.keys));
        const FloatTile tile = scores[row * ld];
        if (begin > 0) {
            FillColumns(tile, kMinusInfinity, count, 0, begin, ld);
            if (stop < step.keys) VectorBarrier();  // both may touch the same block
        }
        if (stop < step.keys) FillColumns(tile, kMinusInfinity, count, stop, step.keys, ld);
        row += count;
    }
    VectorBarrier();
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
