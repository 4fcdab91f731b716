// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows that several cube cores share: where their partial results go, and which vector cores bring them together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {

struct TaskPoint {
    int64_t batch = 0;
    int64_t rows = 0;     // block of rows
    int64_t columns = 0;  // block of columns

    bool is_in_row_of(const TaskPoint& other) const { return batch == other.batch && rows == other.rows; }
};

struct Reduction {
    TaskPoint row;
    int64_t first_slot = 0;
    int64_t slots = 0;
};

// The first core of a shared row writes one partial result, the others one for every column block.
class Slots {
public:
    int64_t next() const { return closed_ + parts_ - 1; }

    // A core worked from `start` to `end`; `blocks_left` of the row at `end` are for later ones.
    void end_core(bool is_first, const TaskPoint& start, const TaskPoint& end, int64_t blocks_left) {
        if (!is_first && parts_ > 1 && !end.is_in_row_of(start)) {
            if (left_ > 0) parts_ += left_ - 1;
            reductions_.push_back({start, closed_, parts_});
            closed_ += parts_;
            parts_ = 1;
            left_ = 0;
        }
        if (end.columns > 0) {
            parts_ += parts_ == 1 ? 1 : end.columns - start.columns;
            left_ = blocks_left;
        }
    }

    const std::vector<Reduction>& reductions() const { return reductions_; }

private:
    int64_t closed_ = 0;
    int64_t parts_ = 1;
    int64_t left_ = 0;
    std::vector<Reduction> reductions_;
};

// `rows_of(point)`: rows of the block at a point. There are no more reductions than vector cores.
template <class RowsOf>
void write_reductions(const std::vector<Reduction>& reductions, RowsOf&& rows_of, int vector_cores, uint32_t* words) {
    if (reductions.empty()) return;
    int64_t total = 0;
    for (const Reduction& reduction : reductions) total += reduction.slots * rows_of(reduction.row);
    const int64_t average = (total + vector_cores - 1) / vector_cores;
    int64_t spare = vector_cores - static_cast<int64_t>(reductions.size());
    int core = 0;
    for (const Reduction& reduction : reductions) {
        const int64_t rows = rows_of(reduction.row);
        const int64_t wanted = std::max<int64_t>(1, reduction.slots * rows / average);
        const int64_t each = (rows + wanted - 1) / wanted;
        const int64_t cores = std::min((rows + each - 1) / each, spare + 1);
        spare -= cores - 1;
        for (int64_t n = 0; n < cores; ++n, ++core) {  // the last one takes the rest
            const int64_t first = n * each;
            uint32_t* to = words + vector_word(core);
            to[kReduce] = 1;
            to[kReduceBatch] = static_cast<uint32_t>(reduction.row.batch);
            to[kReduceRows] = static_cast<uint32_t>(reduction.row.rows);
            to[kReduceSlot] = static_cast<uint32_t>(reduction.first_slot);
            to[kReduceSlots] = static_cast<uint32_t>(reduction.slots);
            to[kReduceFirstRow] = static_cast<uint32_t>(first);
            to[kReduceRowCount] = static_cast<uint32_t>(n + 1 < cores ? each : rows - first);
        }
    }
}

}  // namespace acl_attn::ops::sparse
