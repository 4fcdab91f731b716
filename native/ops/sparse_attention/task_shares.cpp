// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/task_shares.h"

#include <algorithm>

#include "ops/sparse_attention/task_columns.h"
#include "ops/sparse_attention/task_slots.h"

namespace acl_attn::ops::sparse {
namespace {

TaskPoint point_at(const uint32_t* words, CubeField batch) {
    return {words[batch], words[batch + 1], words[batch + 2]};
}

class Reader {
public:
    Reader(const TaskRules& rules, const std::vector<TaskSequence>& sequences) : r_(rules), all_(sequences) {}

    // What a core does from `start` to `end`, which is the next one's start.
    void add(const TaskPoint& start, const TaskPoint& end, int32_t core) {
        const int64_t batches = static_cast<int64_t>(all_.size());
        for (int64_t batch = start.batch; batch <= std::min(end.batch, batches - 1); ++batch) {
            const bool is_first = batch == start.batch, is_last = batch == end.batch;
            const int64_t count = row_blocks(r_, all_[static_cast<size_t>(batch)]);
            int64_t row = is_first ? start.rows : 0;
            const int64_t row_end = std::min(is_last ? end.rows : count, count);
            if (is_first && start.columns > 0 && row < row_end) add_part(batch, row++, start.columns, -1, core);
            if (row < row_end) add_rows(batch, row, row_end, core);
            if (!is_last || end.columns == 0 || end.rows >= count) continue;
            add_part(batch, end.rows, end.is_in_row_of(start) ? start.columns : 0, end.columns, core);
        }
    }

    engine::SparseShares take() { return std::move(shares_); }

private:
    engine::SparseShare rows_of(int64_t batch, int64_t begin, int64_t end, int32_t core) const {
        const TaskSequence& sequence = all_[static_cast<size_t>(batch)];
        engine::SparseShare share;
        share.sequence = batch;
        share.row_begin = begin * r_.blocking.rows;
        share.row_end = std::min(end * r_.blocking.rows, sequence.q * r_.heads);
        share.core = core;
        share.copies = r_.blocking.copies;
        return share;
    }

    void add_rows(int64_t batch, int64_t begin, int64_t end, int32_t core) {
        shares_.push_back(rows_of(batch, begin, end, core));
    }

    // Column blocks of one block of rows; `end` -1: to the last.
    void add_part(int64_t batch, int64_t row, int64_t begin, int64_t end, int32_t core) {
        engine::SparseShare share = rows_of(batch, row, row + 1, core);
        share.blocks = std::max<int64_t>(row_block(r_, all_[static_cast<size_t>(batch)], row).blocks(), 1);
        share.block_begin = std::min(begin, share.blocks);
        share.block_end = end < 0 ? share.blocks : std::min(end, share.blocks);
        shares_.push_back(share);
    }

    const TaskRules& r_;
    const std::vector<TaskSequence>& all_;
    engine::SparseShares shares_;
};

}  // namespace

engine::SparseShares read_shares(const TaskRules& rules, const std::vector<TaskSequence>& sequences,
                                 const uint32_t* words) {
    Reader reader(rules, sequences);
    for (int32_t core = 0; core < kMaxCubeCores; core += rules.blocking.copies) {
        const uint32_t* of_core = words + cube_word(core);
        if (of_core[kEnable] == 0) break;
        reader.add(point_at(of_core, kStartBatch), point_at(of_core, kEndBatch), core);
    }
    return reader.take();
}

}  // namespace acl_attn::ops::sparse
