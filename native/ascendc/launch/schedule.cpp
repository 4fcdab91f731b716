// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/schedule.h"

#include <algorithm>
#include <numeric>

namespace acl_attn::ascendc {
namespace {

// A row block, before its keys are split.
struct Block {
    int64_t sequence, kv_head, row_begin, row_end;
    geometry::Columns keys;
};

void add_item(Schedule& to, const Block& block, int64_t key_begin, int64_t key_end, int64_t partial_row) {
    const size_t at = to.items.size();
    to.items.resize(at + kItemWords);
    int64_t* words = to.items.data() + at;
    words[kItemSequence] = block.sequence;
    words[kItemKvHead] = block.kv_head;
    words[kItemRowBegin] = block.row_begin;
    words[kItemRowEnd] = block.row_end;
    words[kItemKeyBegin] = key_begin;
    words[kItemKeyEnd] = key_end;
    words[kItemPartialRow] = partial_row;
}

void add_split(Schedule& to, const Block& block) {
    const int64_t keys = block.keys.end - block.keys.begin;
    const int64_t splits = (keys + kSplitKeys - 1) / kSplitKeys;
    const int64_t rows = block.row_end - block.row_begin;
    const size_t at = to.merges.size();
    to.merges.resize(at + kMergeWords);
    int64_t* words = to.merges.data() + at;
    words[kMergeSequence] = block.sequence;
    words[kMergeKvHead] = block.kv_head;
    words[kMergeRowBegin] = block.row_begin;
    words[kMergeRowEnd] = block.row_end;
    words[kMergeSplits] = splits;
    words[kMergePartialRow] = to.partial_rows;
    for (int64_t split = 0; split < splits; ++split) {
        const int64_t begin = block.keys.begin + split * kSplitKeys;
        add_item(to, block, begin, std::min(begin + kSplitKeys, block.keys.end), to.partial_rows);
        to.partial_rows += rows;
    }
}

// Where weights are relative to the largest score of the steps so far, steps must follow each other.
bool may_split(Scheme scheme) { return scheme == Scheme::none || scheme == Scheme::mla; }

void add_sequence(Schedule& to, const engine::Problem& problem, int64_t number, const Instantiation& instantiation) {
    const int64_t block_rows = rows_of(instantiation.size);
    const engine::Sequence& s = problem.sequences[static_cast<size_t>(number)];
    const int64_t group = problem.heads / problem.kv_heads;
    const int64_t rows = s.q_len * group;
    // Otherwise other blocks of this KV head keep other cores busy.
    const bool splits = may_split(instantiation.scheme) && rows <= block_rows;
    for (int64_t kv_head = 0; kv_head < problem.kv_heads; ++kv_head) {
        for (int64_t row = 0; row < rows; row += block_rows) {
            Block block = {number, kv_head, row, std::min(row + block_rows, rows), {}};
            block.keys = geometry::columns_between(s.band, block.row_begin / group, (block.row_end - 1) / group,
                                                   s.kv_len);
            if (block.keys.begin >= block.keys.end) block.keys = {};
            // A row's weights depend on which keys are a step: the same for all rows.
            if (instantiation.scheme != Scheme::none) block.keys.begin -= block.keys.begin % kKeysOfStep;
            if (splits && block.keys.end - block.keys.begin > kSplitKeys) {
                add_split(to, block);
            } else {
                add_item(to, block, block.keys.begin, block.keys.end, -1);
            }
        }
    }
    if (s.pad_before + s.pad_after > 0) to.clears.push_back(number);
}

// What an item costs, in steps; its rows' input and output count as one more.
int64_t cost(const int64_t* item) {
    return (item[kItemKeyEnd] - item[kItemKeyBegin] + kKeysOfStep - 1) / kKeysOfStep + 1;
}

}  // namespace

std::vector<int64_t> share_out(const std::vector<int64_t>& costs, int64_t cores) {
    std::vector<int64_t> first_of_core = {0};
    const int64_t total = std::accumulate(costs.begin(), costs.end(), int64_t{0});
    int64_t before = 0;
    for (size_t i = 0; i < costs.size(); ++i) {
        // An item is its core's if its middle is.
        const int64_t core = std::min((2 * before + costs[i]) * cores / (2 * total), cores - 1);
        while (static_cast<int64_t>(first_of_core.size()) <= core) first_of_core.push_back(static_cast<int64_t>(i));
        before += costs[i];
    }
    while (static_cast<int64_t>(first_of_core.size()) <= cores) {
        first_of_core.push_back(static_cast<int64_t>(costs.size()));
    }
    return first_of_core;
}

Schedule make_schedule(const engine::Problem& problem, const Instantiation& instantiation, const Chip& chip) {
    Schedule to;
    for (size_t i = 0; i < problem.sequences.size(); ++i) {
        add_sequence(to, problem, static_cast<int64_t>(i), instantiation);
    }
    if (to.items.empty() && to.clears.empty()) return to;
    to.cores = static_cast<int32_t>(std::clamp<int64_t>(to.item_count(), 1, chip.cores));
    std::vector<int64_t> costs;
    for (int64_t i = 0; i < to.item_count(); ++i) costs.push_back(cost(to.items.data() + i * kItemWords));
    to.core_items = share_out(costs, to.cores);
    return to;
}

}  // namespace acl_attn::ascendc
