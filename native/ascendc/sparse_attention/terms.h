// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a step of sparse attention needs beside the softmax: its rows, a step ahead, and -inf where a row of queries
// does not see a column.
#pragma once

#include "ascendc/flash_attention/hide.h"
#include "ascendc/sparse_attention/gather.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// The same calls as flash attention's ScoreTerms.
template <class Traits>
class SparseTerms {
    using Item = typename Traits::Item;
    static constexpr int32_t kKeys = Traits::kKeys;

public:
    __aicore__ inline explicit SparseTerms(const FlashAttentionParams& params) : group_(params.group) {}

    __aicore__ inline void Begin() { gather_.Begin(); }
    __aicore__ inline void End() { gather_.End(); }
    __aicore__ inline void Load(const Step&, const Item&, RowShare) {}

    // `share`: of the step's columns; `to`: the step's slot in GM.
    __aicore__ inline void Gather(const Step& step, const Item& item, RowShare share, uint64_t to) {
        hidden_[step.key_slot] = gather_.Read(step, item);
        gather_.Take(step, item, share, to);
    }

    // `share`: of the item's rows.
    __aicore__ inline void Apply(const FloatTile& scores, const Step& step, const Item& item, RowShare share) {
        HideTail(scores, step, share.rows, kKeys);
        const int64_t first = item.row_begin + share.begin;
        if (item.streams[step.range].list != 0) {
            HideColumns(scores, hidden_[step.key_slot], share.rows);
        } else if (step.range == kOriStream) {
            HideUnseen(scores, step, first, share.rows, group_, kKeys, item.original);
        } else {
            HideUnseen(scores, step, first, share.rows, group_, kKeys, item.compressed);
        }
    }

private:
    __aicore__ static inline void HideColumns(const FloatTile& scores, const ColumnBits& hidden, int32_t rows) {
        if (hidden.IsEmpty()) return;
        for (int32_t c = 0; c < kKeys; c += kFloatsPerVector) {
            const uint64_t lanes = hidden.words[c / kFloatsPerVector];
            if (lanes != 0) FillLanes(scores[c], kMinusInfinity, rows, lanes, kKeys);
        }
        VectorBarrier();
    }

    const int64_t group_;
    RowGather<Traits> gather_;
    ColumnBits hidden_[kStepsAlive];
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
