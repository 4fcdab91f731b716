// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/task_list.h"

#include <algorithm>

#include "ops/sparse_attention/task_columns.h"
#include "ops/sparse_attention/task_slots.h"

namespace acl_attn::ops::sparse {
namespace {

struct BatchCost {
    int64_t total = 0;
    int64_t last_block = 0;  // the last block of the last row that has one
};

bool is_empty(const TaskRules& r, const TaskSequence& s) {
    return s.q == 0 || !((r.has_ori && s.ori > 0) || (r.has_cmp && s.cmp > 0));
}

// Hands the work out, core by core, in order.
class Assignment {
public:
    Assignment(const TaskRules& rules, const std::vector<TaskSequence>& sequences) : r_(rules), all_(sequences) {
        for (const TaskSequence& sequence : all_) {
            BatchCost cost;
            const int64_t rows = is_empty(r_, sequence) ? 0 : row_blocks(r_, sequence);
            for (int64_t m = 0; m < rows; ++m) {
                const RowBlock row = row_block(r_, sequence, m);
                const int64_t total = row.cost_from(0);
                cost.total += total;
                if (total > 0) cost.last_block = row.last_cost();
                largest_row_ = std::max(largest_row_, total);
            }
            costs_.push_back(cost);
            unassigned_ += cost.total;
        }
        enter_batch(0);
    }

    int64_t unassigned() const { return unassigned_; }
    bool is_done() const { return at_.batch == static_cast<int64_t>(all_.size()); }
    const TaskPoint& at() const { return at_; }
    int64_t column_blocks() const { return column_blocks_; }  // that the last core was given
    int64_t row_blocks_left() const { return row_.blocks() - at_.columns; }

    // Gives the next of `cores_left` cores its share and moves to where the one after it starts.
    void assign(int cores_left) {
        load_ = column_blocks_ = 0;
        const int64_t average = unassigned_ / cores_left;
        limit_ = r_.is_batch_consistent ? average : std::max(average, largest_row_);
        while (!is_done() && (left_ == 0 || fits(left_, costs_[batch()].last_block))) take_batch();
        while (!is_done() && fits(row_.cost_from(at_.columns), row_.last_cost())) take_row();
        if (r_.is_batch_consistent && !is_done()) take_blocks();
        unassigned_ -= load_;
    }

private:
    size_t batch() const { return static_cast<size_t>(at_.batch); }

    // A little more than the limit is better than a core more.
    bool fits(int64_t cost, int64_t last_block) const { return limit_ + last_block / 2 >= load_ + cost; }

    void enter_batch(int64_t batch) {
        at_ = {batch, 0, 0};
        if (is_done()) return;
        left_ = costs_[this->batch()].total;
        enter_row(0);
    }

    void enter_row(int64_t m) {
        at_.rows = m;
        at_.columns = 0;
        const TaskSequence& sequence = all_[batch()];
        row_ = m < row_blocks(r_, sequence) && !is_empty(r_, sequence) ? row_block(r_, sequence, m) : RowBlock{};
    }

    // To the next row; where the batch has no further one that sees anything, to the next batch.
    void leave_row(bool skips_empty) {
        const TaskSequence& sequence = all_[batch()];
        const int64_t rows = row_blocks(r_, sequence);
        do {
            if (at_.rows + 1 >= rows) return enter_batch(at_.batch + 1);
            enter_row(at_.rows + 1);
        } while (skips_empty && row_.blocks() == 0);
    }

    void take_batch() {
        load_ += left_;
        if (left_ > 0) {
            column_blocks_ += row_.blocks() - at_.columns;
            for (int64_t m = at_.rows + 1; m < row_blocks(r_, all_[batch()]); ++m) {
                column_blocks_ += row_block(r_, all_[batch()], m).blocks();
            }
        }
        enter_batch(at_.batch + 1);
    }

    void take_row() {
        const int64_t cost = row_.cost_from(at_.columns);
        load_ += cost;
        left_ -= cost;
        column_blocks_ += row_.blocks() - at_.columns;
        leave_row(true);
    }

    void take_block() {
        const int64_t cost = row_.cost_of(at_.columns);
        load_ += cost;
        left_ -= cost;
        ++column_blocks_;
        ++at_.columns;
    }

    // Parts of a row. A core gets at least one.
    void take_blocks() {
        while (at_.columns < row_.blocks() && fits(row_.cost_of(at_.columns), row_.cost_of(at_.columns))) {
            take_block();
            if (at_.columns == row_.blocks()) leave_row(true);
            if (is_done()) return;
        }
        if (load_ > 0 || at_.columns >= row_.blocks()) return;
        take_block();
        if (at_.columns == row_.blocks()) leave_row(false);
    }

    const TaskRules& r_;
    const std::vector<TaskSequence>& all_;
    std::vector<BatchCost> costs_;
    int64_t largest_row_ = 0;
    int64_t unassigned_ = 0;

    TaskPoint at_;
    RowBlock row_;
    int64_t left_ = 0;  // of the batch
    int64_t load_ = 0;
    int64_t limit_ = 0;
    int64_t column_blocks_ = 0;
};

void write_core(uint32_t* words, int core, const TaskPoint& start, const TaskPoint& end, int64_t first_slot) {
    uint32_t* to = words + cube_word(core);
    to[kEnable] = 1;
    to[kStartBatch] = static_cast<uint32_t>(start.batch);
    to[kStartRows] = static_cast<uint32_t>(start.rows);
    to[kStartColumns] = static_cast<uint32_t>(start.columns);
    to[kEndBatch] = static_cast<uint32_t>(end.batch);
    to[kEndRows] = static_cast<uint32_t>(end.rows);
    to[kEndColumns] = static_cast<uint32_t>(end.columns);
    to[kFirstSlot] = static_cast<uint32_t>(first_slot);
}

// False if more rows are shared than there are vector cores to reduce them.
bool write_assignment(const TaskRules& rules, const std::vector<TaskSequence>& sequences, uint32_t* words) {
    Assignment work(rules, sequences);
    Slots slots;
    TaskPoint start;
    int64_t most_blocks = 0;
    const int cores = rules.cores.cube / rules.blocking.copies;
    int core = 0;
    for (; core < cores && !work.is_done() && work.unassigned() > 0; ++core) {
        const int64_t first_slot = slots.next();
        work.assign(cores - core);
        for (int copy = 0; copy < rules.blocking.copies; ++copy) {
            write_core(words, core * rules.blocking.copies + copy, start, work.at(), first_slot);
        }
        most_blocks = std::max(most_blocks, work.column_blocks());
        slots.end_core(core == 0, start, work.at(), work.is_done() ? 0 : work.row_blocks_left());
        start = work.at();
    }
    if (rules.blocking.copies > 1) {
        for (int i = 0; i < core * rules.blocking.copies; ++i) {
            words[cube_word(i) + kMostColumnBlocks] = static_cast<uint32_t>(most_blocks);
        }
    }
    if (slots.reductions().size() > static_cast<size_t>(rules.cores.vector)) return false;
    const auto rows_of = [&](const TaskPoint& row) {
        return row_block(rules, sequences[static_cast<size_t>(row.batch)], row.rows).rows;
    };
    write_reductions(slots.reductions(), rows_of, rules.cores.vector, words);
    return true;
}

}  // namespace

void write_task_list(const TaskRules& rules, const std::vector<TaskSequence>& sequences, uint32_t* words) {
    std::fill(words, words + kTaskWords, 0);
    const auto empty = [&](const TaskSequence& sequence) { return is_empty(rules, sequence); };
    if (std::all_of(sequences.begin(), sequences.end(), empty)) {
        const TaskPoint end{static_cast<int64_t>(sequences.size()), 0, 0};
        for (int copy = 0; copy < rules.blocking.copies; ++copy) write_core(words, copy, {}, end, 0);
        return;
    }
    // Chips have two vector cores to a cube core; where limits on streams leave too few, nothing is cut.
    if (!write_assignment(rules, sequences, words)) {
        std::fill(words, words + kTaskWords, 0);
        TaskRules uncut = rules;
        uncut.is_batch_consistent = false;
        write_assignment(uncut, sequences, words);
    }
    if (words[kEnable] == 0) {  // every list is empty: one core that does nothing
        for (int copy = 0; copy < rules.blocking.copies; ++copy) write_core(words, copy, {}, {}, 0);
    }
}

}  // namespace acl_attn::ops::sparse
