// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/sparse_schedule.h"

namespace acl_attn::engine {

// A token's list after the rules of SparseOperands.
struct SparseList {
    const int32_t* entries = nullptr;
    int64_t looked_at = 0;  // the first so many entries
    int64_t visible = 0;    // of them, those in [0, visible) are seen; -1 ends the list
};

// problem.ori.topk, or cmp's, is not 0. A negative top-k length counts as 0.
SparseList list_of(const SparseProblem& problem, const SparseOperands& operands, const SparseSequence& sequence,
                   int64_t token, bool is_compressed);

// Entries that name a visible row.
int64_t count_rows(const SparseList& list);

SparseFault find_fault(const SparseProblem& problem, const SparseOperands& operands, const SparseSequence* sequences,
                       int64_t count);

}  // namespace acl_attn::engine
