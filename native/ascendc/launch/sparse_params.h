// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a sparse problem, its sequences and its operands to what a kernel is called with.
#pragma once

#include "ascendc/launch/chip.h"
#include "ascendc/launch/params.h"
#include "ascendc/launch/sparse_schedule.h"
#include "engine/sparse.h"

namespace acl_attn::ascendc {

// A run's workspace: flash attention's parts, and the words of sequences that only sparse kernels read.
struct SparseMemory {
    KernelMemory rows;
    int64_t* sequences = nullptr;
};

// Serves the question for the size (no memory) and the run: room for any lengths.
SparseMemory divide_memory(void* memory, const engine::SparseProblem& problem, const Chip& chip);

// Whether the schedule has that room. It has if the caller's sequences keep to the problem's bounds.
bool fits(const engine::SparseProblem& problem, const SparseSchedule& schedule, int64_t sequences);

void write_plan(const SparseMemory& to, const engine::SparseProblem& problem, const engine::SparseOperands& operands,
                const engine::SparseSequence* sequences, int64_t count, const SparseSchedule& schedule);

SparseAttentionParams make_params(const SparseMemory& places, const engine::SparseProblem& problem,
                                  const engine::SparseOperands& operands, const SparseSchedule& schedule);

}  // namespace acl_attn::ascendc
