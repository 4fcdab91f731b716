// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a block's place among the sequences to what its kernel is given.
#pragma once

#include "engine/sparse.h"
#include "engine/sparse_block.h"

namespace acl_attn::engine {

struct SparsePlace {
    int64_t sequence = 0;
    int64_t token_begin = 0;
    int64_t token_end = 0;
    int32_t head_begin = 0;
    int32_t heads = 0;
};

inline bool is_packed(const SparseProblem& p) {
    return p.rows == SparseRows::packed_e4m3 || p.rows == SparseRows::packed_hif8;
}

// Of the numbers in a row, where packed of its codes.
Dtype type_in_rows(const SparseProblem& problem);

// The sink of a sequence's rows from this head on.
RowSink row_sink(const SparseProblem& problem, const SparseOperands& operands, const SparseSequence& sequence,
                 int64_t head);

SparseBlock block_at(const SparseProblem& problem, const SparseOperands& operands, const SparseSequence& sequence,
                     const SparsePlace& place);

}  // namespace acl_attn::engine
