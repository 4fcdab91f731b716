// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What phase one makes of a call: everything that does not depend on what device memory holds.
#pragma once

#include <memory>
#include <vector>

#include "engine/sparse.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/device.h"
#include "ops/sparse_attention/lengths.h"
#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {

struct Planned {
    Operator op = Operator::sparse_flash_mla;
    Layout layout_q = Layout::bsnd;
    Layout layout_kv = Layout::bsnd;
    engine::SparseProblem problem;
    std::shared_ptr<const engine::SparseAttention> attention;  // null: q has no rows
    LengthSources lengths;                                     // without addresses
    TaskRules tasks;                                           // of its metadata
    bool follows_tasks = false;                                // they are for the cores that compute
    int64_t q_batch_stride = 0;                                // from sequence to sequence, of what is unpacked
    int64_t out_batch_stride = 0;
    int64_t ori_batch_stride = 0;
    int64_t cmp_batch_stride = 0;
    int64_t ori_table_columns = 0;
    int64_t cmp_table_columns = 0;
};

// All but the attention.
std::shared_ptr<Planned> make_plan(const Case& subject, const PlanningDevice& device);

// The sequences of a run whose lengths have been read.
std::vector<engine::SparseSequence> place_sequences(const Planned& planned,
                                                    const std::vector<SequenceLengths>& lengths);

// What the planner knows of a sequence; lists' lengths, if any, are those of all query rows.
TaskSequence task_sequence(const SequenceLengths& lengths, Layout layout_q, int64_t sequence, const int32_t* ori_topk,
                           const int32_t* cmp_topk);

std::vector<TaskSequence> task_sequences(const Planned& planned, const std::vector<SequenceLengths>& lengths,
                                         const int32_t* ori_topk, const int32_t* cmp_topk);

// Several lines for people.
std::string describe(const Planned& planned);

}  // namespace acl_attn::ops::sparse
