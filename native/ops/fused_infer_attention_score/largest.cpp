// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/largest.h"

#include <algorithm>

#include "ops/compute.h"

namespace acl_attn::ops::fia {
namespace {

// Any number of sequences: more than this many change nothing, as no machine has so many threads.
constexpr int64_t kMany = 1024;

// A band of a window may straddle more splits of the keys than an open one of a shorter sequence, never than this.
engine::Sequence sequence(const engine::Sequence& like, int64_t q_len, int64_t kv_len) {
    engine::Sequence s = like;
    s.q_len = q_len;
    s.kv_len = kv_len;
    s.band = {};
    return s;
}

uint64_t bytes(engine::Problem problem, std::vector<engine::Sequence> sequences) {
    problem.sequences = std::move(sequences);
    return compute::plan(std::move(problem), compute::chip())->workspace_bytes();
}

}  // namespace

void assume_largest(Case& c) {
    const auto totals = [](int64_t sequences, int64_t tokens) {
        return std::vector<int64_t>(static_cast<size_t>(std::max<int64_t>(sequences, 1)), tokens);
    };
    c.q_lengths = c.kv_lengths = nullptr;
    if (c.is_packed()) {
        const std::vector<int64_t>* given_q = given_ints(c.call, kActualSeqLengths);
        const bool paged = c.storage == Storage::paged && c.block_table->rank == 2;
        const int64_t sequences = paged                ? c.block_table->shape[0]
                                  : given_q != nullptr ? static_cast<int64_t>(given_q->size())
                                                       : 1;
        c.assumed_q = totals(std::min<int64_t>(sequences, 65536), c.q.tokens);
        c.q_lengths = &c.assumed_q;
    }
    if (c.storage == Storage::paged) {
        int64_t reach = 0;
        const int64_t columns = c.block_table->rank == 2 ? c.block_table->shape[1] : 0;
        if (__builtin_mul_overflow(columns, c.call.block_size, &reach) || reach < 0) reach = 0;
        c.assumed_kv = totals(c.is_packed() ? static_cast<int64_t>(c.assumed_q.size()) : 1, reach);
        c.kv_lengths = &c.assumed_kv;
    } else if (c.is_packed()) {
        c.assumed_kv = totals(static_cast<int64_t>(c.assumed_q.size()), c.k.front().tokens);
        c.kv_lengths = &c.assumed_kv;
    }
}

// Which lengths want most depends on where the engine's schedule splits: by rows of a sequence that lie between powers
// of two. So all of these are tried, with all keys. Sequences of one call may want most in different ways, some in
// scratch memory and some in partial results; each way alone is below the maximum, so twice the maximum serves both.
// Where sequences share one token axis, splitting keys of several can at most double the partial results of one.
uint64_t largest_workspace(const Case& c, const engine::Problem& problem) {
    const int64_t group = problem.heads / problem.kv_heads;
    const bool packed = c.is_packed();
    uint64_t most = bytes(problem, problem.sequences);
    std::vector<int64_t> lengths{c.longest_q};
    for (int64_t rows = 1; rows <= 4096; rows *= 2) lengths.push_back(std::max<int64_t>(rows / group, 1));
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    for (const int64_t length : lengths) {
        if (length > c.longest_q) break;
        std::vector<engine::Sequence> sequences;
        const bool alone = c.packs_kv();
        for (const engine::Sequence& s : problem.sequences) {
            sequences.push_back(sequence(s, length, alone ? c.prefix_len + c.longest_kv : s.kv_len));
            if (alone || (packed && static_cast<int64_t>(sequences.size()) * length >= c.longest_q)) break;
        }
        most = std::max(most, bytes(problem, std::move(sequences)));
    }
    if (packed && c.longest_q > 0) {  // sequences without keys still are work for as many threads
        const std::vector<engine::Sequence> many(static_cast<size_t>(std::min(c.longest_q, kMany)),
                                                 sequence(problem.sequences.front(), 1, 0));
        most += bytes(problem, many);
    }
    return most * (packed ? 4 : 2);
}

}  // namespace acl_attn::ops::fia
