// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The work of one block of rows: how many columns it sees, the blocks they fall into, and what those cost.
#pragma once

#include <algorithm>
#include <cstdint>

#include "geometry/band.h"
#include "ops/sparse_attention/task_list.h"
#include "ops/sparse_attention/visibility.h"

namespace acl_attn::ops::sparse {

constexpr int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

// The cost model of the plan: a cube core works in units of 16 rows and 64 columns.
constexpr int64_t block_cost(int64_t rows, int64_t columns) {
    return 6 * blocks_of(rows, 16) + 10 * blocks_of(columns, 64);
}

// A block of rows. Its column blocks are numbered through both streams; the last of each may be smaller.
struct RowBlock {
    int64_t rows = 0;
    int64_t ori = 0;   // columns
    int64_t cmp = 0;
    int64_t unit = 1;  // columns of a block

    int64_t ori_blocks() const { return blocks_of(ori, unit); }
    int64_t blocks() const { return ori_blocks() + blocks_of(cmp, unit); }

    int64_t cost_of(int64_t block) const {
        const int64_t first = ori_blocks();
        const int64_t left = block < first ? ori - block * unit : cmp - (block - first) * unit;
        return block_cost(rows, std::min(left, unit));
    }
    int64_t last_cost() const { return blocks() == 0 ? 0 : cost_of(blocks() - 1); }

    // Of the blocks from `block` on.
    int64_t cost_from(int64_t block) const {
        const int64_t first = ori_blocks();
        return stream_cost(ori, std::min(block, first)) + stream_cost(cmp, std::max<int64_t>(block - first, 0));
    }

private:
    int64_t stream_cost(int64_t columns, int64_t from) const {
        const int64_t count = blocks_of(columns, unit) - from;
        if (count <= 0) return 0;
        const int64_t last = columns - (from + count - 1) * unit;
        return (count - 1) * block_cost(rows, unit) + block_cost(rows, last);
    }
};

// Visible original columns, first and last; `last` < 0 or below `first`: none.
struct OriginalColumns {
    int64_t first = 0;
    int64_t last = -1;
    bool is_empty() const { return last < first; }
    int64_t count() const { return is_empty() ? 0 : last - first + 1; }
};

inline OriginalColumns original_columns(const TaskRules& r, const TaskSequence& s, int64_t first_token,
                                        int64_t last_token) {
    const geometry::Band band = original_band(r.ori_mask_mode, r.win_left, r.win_right, s.q, s.ori);
    const geometry::Columns seen = geometry::columns_between(band, first_token, last_token, s.ori);
    return {seen.begin, seen.end - 1};
}

// The entries of its list that the token with most of them has, among tokens first .. last.
inline int64_t longest_list(const TaskSequence& s, int64_t topk, int64_t first_token, int64_t last_token) {
    if (s.ori_topk == nullptr) return topk;
    return *std::max_element(s.ori_topk + first_token, s.ori_topk + last_token + 1);
}

inline int64_t original_count(const TaskRules& r, const TaskSequence& s, const OriginalColumns& seen,
                              int64_t first_token, int64_t last_token) {
    if (!r.has_ori) return 0;
    if (r.ori_topk == 0) return seen.count();
    const int64_t listed = longest_list(s, r.ori_topk, first_token, last_token);
    // A list alone is taken as it is, whatever mask and window say.
    return std::min(listed, r.has_cmp ? seen.count() : s.ori);
}

inline int64_t compressed_count(const TaskRules& r, const TaskSequence& s, const OriginalColumns& seen,
                                int64_t first_token, int64_t last_token) {
    if (!r.has_cmp) return 0;
    int64_t last = 0;  // original token up to which compressed rows are seen
    if (r.cmp_follows_ori) {
        last = seen.is_empty() ? 0 : seen.last;
    } else {
        const int64_t stands_for = s.cmp * r.cmp_ratio + s.residual;
        last = stands_for - 1;
        if (r.cmp_mask_mode != kNoMask) {
            last = std::min(last, last_token + compressed_shift(stands_for, s.q) - 1);
        }
        if (last < 0) return 0;
    }
    const int64_t count = (last + 1) / r.cmp_ratio;
    if (r.cmp_topk == 0) return count;
    const bool by_length = r.cmp_mask_mode == kNoMask && s.cmp_topk != nullptr && !r.cmp_follows_ori;
    return std::min<int64_t>(count, by_length ? s.cmp_topk[first_token] : r.cmp_topk);
}

// The parts into which a batch-consistent plan cuts columns: about a 32nd of the row, in whole blocks.
inline int64_t consistent_unit(int64_t columns, int64_t block) {
    return std::max(block, blocks_of(columns / 32, block) * block);
}

inline int64_t row_blocks(const TaskRules& r, const TaskSequence& s) {
    return blocks_of(s.q * r.heads, r.blocking.rows);
}

inline RowBlock row_block(const TaskRules& r, const TaskSequence& s, int64_t index) {
    const int64_t begin = index * r.blocking.rows;
    const int64_t end = std::min(begin + r.blocking.rows, s.q * r.heads);
    const int64_t first_token = begin / r.heads;
    const int64_t last_token = (end - 1) / r.heads;
    const OriginalColumns seen = original_columns(r, s, first_token, last_token);
    RowBlock block;
    block.rows = end - begin;
    block.ori = original_count(r, s, seen, first_token, last_token);
    block.cmp = compressed_count(r, s, seen, first_token, last_token);
    block.unit = r.is_batch_consistent ? consistent_unit(block.ori + block.cmp, r.blocking.columns)
                                       : r.blocking.columns;
    return block;
}

}  // namespace acl_attn::ops::sparse
