// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule.h"

#include <algorithm>
#include <numeric>

#include "engine/kernels.h"
#include "engine/workspace.h"

namespace acl_attn::engine {
namespace {

constexpr int32_t kSmallestBlock = 48;     // rows; packing would cost too much for fewer
constexpr int64_t kLargeItemsPerThread = 9;  // of large blocks, whose odd one out would make the others wait
constexpr int64_t kSplitRows = 256;        // prefill sequences with at most so many rows split their keys

// Keys that some merged row of [row_begin, row_end) sees; begin >= end: none.
geometry::Columns visible(const Sequence& s, int32_t group, int64_t row_begin, int64_t row_end) {
    return geometry::columns_between(s.band, row_begin / group, (row_end - 1) / group, s.kv_len);
}

int64_t count(const geometry::Columns& keys) { return std::max<int64_t>(keys.end - keys.begin, 0); }

int64_t whole_groups(int64_t rows, int group) { return (rows + group - 1) / group * group; }

struct Shape {
    int32_t group;
    int64_t rows;
    WorkItem::Kind kind;
};

// What decides must not depend on other sequences or on threads.
Shape shape_of(const Problem& problem, const Sequence& s, const RowLimits& limits) {
    const int32_t group = problem.heads / problem.kv_heads;
    const int64_t rows = s.q_len * group;
    if (problem.full_quant.kind != FullQuant::Kind::none) return {group, rows, WorkItem::prefill};
    if (rows <= limits.stream_rows) return {group, rows, WorkItem::decode};
    return {group, rows, rows <= limits.few_rows ? WorkItem::few_rows : WorkItem::prefill};
}

// Scores of a sequence's one KV head, about.
int64_t cost(const Problem& problem, const Sequence& s) {
    const Shape shape = shape_of(problem, s, {});
    if (shape.rows == 0) return 0;
    const int64_t first = count(visible(s, shape.group, 0, 1));
    const int64_t last = count(visible(s, shape.group, shape.rows - 1, shape.rows));
    const int64_t middle = count(visible(s, shape.group, shape.rows / 2, shape.rows / 2 + 1));
    return (first + 2 * middle + last) * shape.rows / 4 + 1;
}

int32_t choose_block_rows(const Problem& problem, int threads, const RowLimits& limits) {
    for (int32_t rows = limits.block_rows; rows > kSmallestBlock; rows /= 2) {
        int64_t items = 0;
        for (const Sequence& s : problem.sequences) {
            const Shape shape = shape_of(problem, s, limits);
            if (shape.kind == WorkItem::prefill) items += (shape.rows + rows - 1) / rows * problem.kv_heads;
        }
        const int64_t enough = rows > kMaxBlockRows ? kLargeItemsPerThread : kItemsPerThread;
        if (threads == 1 || items >= enough * threads) return rows;
    }
    return kSmallestBlock;
}

// Whether a token's heads of keys, and those of values, are one row.
bool has_heads_side_by_side(const Problem& problem) {
    return std::all_of(problem.sequences.begin(), problem.sequences.end(), [&](const Sequence& s) {
        return s.key_head_stride == problem.dim && (problem.value_is_key || s.value_head_stride == problem.dim_v);
    });
}

// KV heads that an item of decode, or of few rows, takes together. Where a token's heads lie side by side that reads
// memory in its order and touches each page once, not once for each head; and what one head leaves to wait for is done
// beside the next one's.
int32_t choose_heads(const Problem& problem, const Effort& effort, WorkItem::Kind kind, const RowLimits& limits) {
    const bool is_decode = kind == WorkItem::decode;
    // Those others are staged one by one, or lie differently in the prefix.
    if (problem.rope_dim > 0 || problem.prefix_len > 0 || (is_quantised(problem) && !takes_codes(problem)) ||
        problem.key.chunk < problem.dim || problem.value.chunk < problem.dim_v ||
        (!is_decode && !has_heads_side_by_side(problem))) {
        return 1;
    }
    int64_t splits = 0, rows = 1;
    for (const Sequence& s : problem.sequences) {
        const Shape shape = shape_of(problem, s, limits);
        if (shape.kind != kind || shape.rows == 0) continue;
        rows = std::max(rows, shape.rows);
        const geometry::Columns keys = visible(s, shape.group, 0, shape.rows);
        const int64_t split = is_decode ? kStreamSplit : kTileSplit;
        if (count(keys) > 0) splits += (keys.end - 1) / split - keys.begin / split + 1;
    }
    const int64_t most = is_decode ? kStreamItemRows / rows : kFewItemRows / whole_groups(rows, limits.group);
    int32_t heads = static_cast<int32_t>(std::min<int64_t>(problem.kv_heads, most));
    // Two for each thread, so that one which comes late does not make the others wait; but a head less read at a time
    // takes as long as coming late where there are few keys.
    const int64_t enough = !is_decode ? kItemsPerThread : is_worth_waking(effort.multiply_adds) ? 2 : 1;
    const int64_t items = effort.threads > 1 ? enough * effort.threads : 0;
    while (heads > 1 && splits * (problem.kv_heads / heads) < items) heads /= 2;
    return heads;
}

class Builder {
public:
    Builder(const Problem& problem, Schedule& schedule, const Effort& effort, const RowLimits& limits)
        : p_(problem), out_(schedule), limits_(limits),
          decode_heads_(choose_heads(problem, effort, WorkItem::decode, limits)),
          few_rows_heads_(choose_heads(problem, effort, WorkItem::few_rows, limits)) {}

    void add_rows(int32_t sequence, int32_t kv_head, int32_t kv_heads, int64_t row_begin, int64_t row_end,
                  const Shape& shape) {
        const Sequence& s = p_.sequences[static_cast<size_t>(sequence)];
        const geometry::Columns span = visible(s, shape.group, row_begin, row_end);
        const int64_t split = split_of(shape);
        WorkItem item;
        item.kind = shape.kind;
        item.sequence = sequence;
        item.kv_head = kv_head;
        item.kv_heads = kv_heads;
        item.row_begin = row_begin;
        item.row_end = row_end;
        if (split == 0 || count(span) == 0 || span.begin / split == (span.end - 1) / split) {
            // The sinks of all rows, also of those that see nothing, are this item's.
            if (count(span) > 0) {
                item.key_begin = span.begin;
                item.key_end = span.end;
            }
            out_.items.push_back(item);
            return;
        }
        Merge merge;
        merge.sequence = sequence;
        merge.kv_head = kv_head;
        merge.kv_heads = kv_heads;
        merge.row_begin = row_begin;
        merge.row_end = row_end;
        merge.partial_row = out_.partial_rows;
        item.merge = static_cast<int32_t>(out_.merges.size());
        for (int64_t key = span.begin / split * split; key < span.end; key += split, merge.splits++) {
            item.key_begin = std::max(key, span.begin);
            item.key_end = std::min(key + split, span.end);
            item.partial_row = out_.partial_rows;
            out_.items.push_back(item);
            out_.partial_rows += kv_heads * (row_end - row_begin);
        }
        out_.merges.push_back(merge);
    }

    // All of a sequence's rows, so many KV heads at a time.
    void add_heads(int32_t sequence, int32_t heads, const Shape& shape) {
        for (int32_t head = 0; head < p_.kv_heads; head += heads) {
            add_rows(sequence, head, std::min(heads, p_.kv_heads - head), 0, shape.rows, shape);
        }
    }

    void add_sequence(int32_t sequence) {
        const Shape shape = shape_of(p_, p_.sequences[static_cast<size_t>(sequence)], limits_);
        if (shape.rows == 0) return;
        if (shape.kind == WorkItem::decode) {
            out_.decode_rows = std::max(out_.decode_rows, static_cast<int32_t>(decode_heads_ * shape.rows));
            return add_heads(sequence, decode_heads_, shape);
        }
        if (shape.kind == WorkItem::few_rows) {
            const int64_t rows = few_rows_heads_ * whole_groups(shape.rows, limits_.group);
            out_.few_rows = std::max(out_.few_rows, static_cast<int32_t>(rows));
            return add_heads(sequence, few_rows_heads_, shape);
        }
        // Equal blocks, the last rows first: under a causal mask these see most.
        const int64_t blocks = (shape.rows + out_.block_rows - 1) / out_.block_rows;
        const int64_t share = (shape.rows + blocks - 1) / blocks;
        const int64_t rows = std::min<int64_t>(whole_groups(share, limits_.group), out_.block_rows);
        for (int32_t head = 0; head < p_.kv_heads; head++) {
            for (int64_t block = (shape.rows - 1) / rows; block >= 0; block--) {
                add_rows(sequence, head, 1, block * rows, std::min((block + 1) * rows, shape.rows), shape);
            }
        }
    }

private:
    // Keys of a split; 0: no splits.
    int64_t split_of(const Shape& shape) const {
        if (p_.full_quant.kind != FullQuant::Kind::none) return 0;  // full_quant_kernels.h says why
        return shape.kind == WorkItem::decode ? kStreamSplit : shape.rows <= kSplitRows ? kTileSplit : 0;
    }

    const Problem& p_;
    Schedule& out_;
    const RowLimits limits_;
    const int32_t decode_heads_, few_rows_heads_;
};

}  // namespace

int worthwhile_threads(double multiply_adds, int threads) {
    constexpr double kMultiplyAddsPerThread = 5e5;
    return static_cast<int>(std::clamp(multiply_adds / kMultiplyAddsPerThread, 1.0, static_cast<double>(threads)));
}

Effort effort_of(const Problem& problem, int threads) {
    double scores = 0;
    for (const Sequence& s : problem.sequences) scores += static_cast<double>(cost(problem, s));
    const double multiply_adds = scores * problem.kv_heads * (problem.dim + problem.dim_v);
    return {multiply_adds, worthwhile_threads(multiply_adds, threads)};
}

int64_t tiles_of(const Sequence& s) { return (s.kv_len + kFewTileKeys - 1) / kFewTileKeys; }

Schedule make_schedule(const Problem& problem, const Effort& effort, const RowLimits& limits) {
    Schedule schedule;
    std::vector<int32_t> order(problem.sequences.size());
    std::iota(order.begin(), order.end(), 0);
    if (order.size() > 1) {
        std::vector<int64_t> costs;
        for (const Sequence& s : problem.sequences) costs.push_back(cost(problem, s));
        const auto is_costlier = [&](int32_t a, int32_t b) {
            return costs[static_cast<size_t>(a)] > costs[static_cast<size_t>(b)];
        };
        if (!std::is_sorted(order.begin(), order.end(), is_costlier)) {
            std::stable_sort(order.begin(), order.end(), is_costlier);
        }
    }
    for (const Sequence& s : problem.sequences) {
        if (shape_of(problem, s, limits).kind != WorkItem::prefill) continue;
        schedule.block_rows = choose_block_rows(problem, effort.threads, limits);
        break;
    }
    Builder builder(problem, schedule, effort, limits);
    for (const int32_t sequence : order) builder.add_sequence(sequence);
    if (problem.has_mask && (schedule.block_rows > 0 || schedule.few_rows > 0)) {
        for (const Sequence& s : problem.sequences) {
            const Shape shape = shape_of(problem, s, limits);
            schedule.tile_masks.push_back(schedule.tile_mask_bytes);
            if (shape.kind == WorkItem::decode) continue;
            schedule.tile_mask_bytes += whole_groups(shape.rows, limits.group) / limits.group * tiles_of(s);
        }
    }
    for (const int32_t sequence : order) {
        const Sequence& s = problem.sequences[static_cast<size_t>(sequence)];
        if (s.pad_before == 0 && s.pad_after == 0) continue;
        WorkItem item;
        item.kind = WorkItem::padding;
        item.sequence = sequence;
        schedule.items.push_back(item);
    }
    return schedule;
}

}  // namespace acl_attn::engine
