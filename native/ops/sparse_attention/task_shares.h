// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The task list as a kernel's launch takes it.
#pragma once

#include "engine/sparse.h"
#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {

// Which core computes what by these words, which write_task_list() made for the same rules and sequences. Of the
// reductions nothing is taken: who brings partial results together is the launch's business.
engine::SparseShares read_shares(const TaskRules& rules, const std::vector<TaskSequence>& sequences,
                                 const uint32_t* words);

}  // namespace acl_attn::ops::sparse
