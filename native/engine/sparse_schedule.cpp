// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse_schedule.h"

#include <algorithm>

#include "engine/schedule.h"
#include "engine/sparse_block.h"

namespace acl_attn::engine {
namespace {

constexpr int32_t kFewestHeads = 30;    // of a block; packing would cost too much for fewer

// The split that column `column` is in.
int64_t split_of(int64_t column) {
    const int64_t unit = column / kSparseSplitUnit;
    int64_t exponent = 0;
    while ((unit >> exponent) >= 16) exponent++;
    return exponent * 8 + (unit >> exponent);
}

int64_t splits(SparseRange range) {
    return range.begin >= range.end ? 0 : split_of(range.end - 1) - split_of(range.begin) + 1;
}

SparseRange split(SparseRange range, int64_t index) {
    const int64_t first = split_of(range.begin) + index;
    return {std::max(range.begin, sparse_split_begin(first)), std::min(range.end, sparse_split_begin(first + 1))};
}

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// A range somewhere in the stream touches one split more than one at its begin, where splits are shortest.
int64_t most_splits(const SparsePool& pool) {
    return pool.present && pool.max_seen > 0 ? splits({0, pool.max_seen}) + 1 : 0;
}

int64_t blocks_of(const SparseShape& shape, const SparseProblem& problem, const SparseSequence* sequences,
                  int64_t count) {
    if (sequences == nullptr) return (problem.max_tokens + shape.tokens - 1) / shape.tokens * shape.head_parts;
    int64_t blocks = 0;
    for (int64_t i = 0; i < count; i++) {
        blocks += (sequences[i].q_len + shape.tokens - 1) / shape.tokens * shape.head_parts;
    }
    return blocks;
}

}  // namespace

SparseRange original_columns(const SparseProblem& problem, const SparseSequence& s, int64_t token) {
    if (!problem.ori.present) return {};
    const geometry::Columns seen = geometry::visible_columns(s.ori_band, token, s.ori.len);
    return {seen.begin, seen.end};
}

int64_t visible_compressed(const SparseProblem& problem, const SparseSequence& s, int64_t token) {
    if (!problem.cmp.present) return 0;
    const int64_t stands_for = token + s.cmp_shift;
    return stands_for <= 0 ? 0 : std::min(stands_for / problem.cmp_ratio, s.cmp.len);
}

SparseParts::SparseParts(SparseRange ori, SparseRange cmp) : ori_(ori), cmp_(cmp), ori_parts_(splits(ori)) {
    const int64_t cmp_parts = splits(cmp);
    const bool is_joined = ori_parts_ > 0 && cmp_parts > 0;
    count_ = ori_parts_ + cmp_parts - (is_joined ? 1 : 0);
}

void SparseParts::columns(int64_t part, SparseRange* ori, SparseRange* cmp) const {
    *ori = part < ori_parts_ ? split(ori_, part) : SparseRange{};
    const int64_t first = std::max<int64_t>(ori_parts_ - 1, 0);
    *cmp = part >= first && part - first < splits(cmp_) ? split(cmp_, part - first) : SparseRange{};
}

int64_t most_parts(const SparseProblem& problem) {
    return std::max<int64_t>(most_splits(problem.ori) + most_splits(problem.cmp), 1);
}

int32_t rows_of_token(const SparseProblem& problem, int32_t heads, int32_t group) {
    const bool has_lists = problem.ori.topk > 0 || problem.cmp.topk > 0;
    return has_lists ? static_cast<int32_t>(round_up(heads, group)) : heads;
}

SparseShape choose_shape(const SparseProblem& problem, const SparseSequence* sequences, int64_t count, int threads,
                         int32_t group) {
    SparseShape shape;
    shape.heads = problem.heads;
    shape.tokens = kMaxBlockRows / rows_of_token(problem, problem.heads, group);
    const int64_t wanted = threads == 1 ? 1 : kItemsPerThread * threads;
    const auto has_enough = [&] {
        shape.blocks = blocks_of(shape, problem, sequences, count);
        return shape.blocks >= wanted;
    };
    while (!has_enough() && shape.tokens > 1) shape.tokens /= 2;
    while (!has_enough() && shape.blocks > 0) {
        const int32_t parts = shape.head_parts * 2;
        const int32_t heads = static_cast<int32_t>(round_up((problem.heads + parts - 1) / parts, group));
        if (heads < kFewestHeads || heads >= shape.heads) break;
        shape.heads = heads;
        shape.head_parts = (problem.heads + heads - 1) / heads;
    }
    return shape;
}

}  // namespace acl_attn::engine
