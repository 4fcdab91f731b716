// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a sparse call into items and gives them to AI cores. How the rows of a sequence are cut depends on that sequence
// alone, so a result depends neither on its batch neighbours nor on the cores; a task list only says which core an
// item goes to.
#pragma once

#include <cstdint>

#include "ascendc/launch/chip.h"
#include "ascendc/launch/work_lists.h"
#include "ascendc/sparse_attention/params.h"
#include "engine/sparse.h"

namespace acl_attn::ascendc {

struct SparseSchedule : WorkLists {
    bool is_by_shares = false;

    int64_t item_count() const { return static_cast<int64_t>(items.size()) / kSparseItemWords; }
};

// What no schedule of the problem exceeds, whatever the lengths.
struct SparseScheduleBounds {
    int64_t items = 0;
    int64_t merges = 0;
    int64_t partial_rows = 0;
};
SparseScheduleBounds bounds_of(const engine::SparseProblem& problem);

// `shares` are followed if they are for no more cores than the chip has. May throw bad_alloc.
SparseSchedule make_schedule(const engine::SparseProblem& problem, const engine::SparseSequence* sequences,
                             int64_t count, const engine::SparseShares* shares, const Chip& chip);

}  // namespace acl_attn::ascendc
