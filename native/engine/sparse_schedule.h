// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How a sparse problem is cut into blocks of query tokens and heads, and, where these are too few for the threads,
// into parts of what a token sees. None of it changes a bit of the result: parts end at sparse_split_begin() in any
// case.
#pragma once

#include <cstdint>

#include "engine/sparse.h"

namespace acl_attn::engine {

struct SparseRange {
    int64_t begin = 0;
    int64_t end = 0;
};

// What a token may look at: rows, or entries of its list.
SparseRange original_columns(const SparseProblem& problem, const SparseSequence& sequence, int64_t token);
int64_t visible_compressed(const SparseProblem& problem, const SparseSequence& sequence, int64_t token);

// The parts of one token's streams between cuts. The last of the original ones and the first of the compressed ones are
// one part.
class SparseParts {
public:
    SparseParts() = default;
    // Columns that the token sees: rows, or the valid entries of its list, counted.
    SparseParts(SparseRange ori, SparseRange cmp);
    int64_t count() const { return count_; }
    void columns(int64_t part, SparseRange* ori, SparseRange* cmp) const;

private:
    SparseRange ori_, cmp_;
    int64_t ori_parts_ = 0, count_ = 0;
};

// At most so many parts.
int64_t most_parts(const SparseProblem& problem);

struct SparseShape {
    int32_t tokens = 1;      // of a block
    int32_t head_parts = 1;  // blocks that share the heads of a token
    int32_t heads = 0;       // of a block, the last may have fewer
    int64_t blocks = 0;      // for the tokens asked for
};

// Rows that a block of so many heads keeps for each token.
int32_t rows_of_token(const SparseProblem& problem, int32_t heads, int32_t group);

// Blocks as large as leaves enough of them for the threads. `count` sequences; null: one sequence of max_tokens.
SparseShape choose_shape(const SparseProblem& problem, const SparseSequence* sequences, int64_t count, int threads,
                         int32_t group);

}  // namespace acl_attn::engine
