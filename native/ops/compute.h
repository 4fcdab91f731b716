// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What computes the calls of this library: the host engine (compute_host.cpp) or the AscendC kernels, in the library of
// the sim target (ascendc/launch/compute_sim.cpp) and in that of the npu target (npu/compute_npu.cpp). Everything
// before it is the same.
#pragma once

#include <memory>

#include "ascendc/launch/chip.h"
#include "engine/attention.h"
#include "engine/sparse.h"
#include "ops/finding.h"

namespace acl_attn::ops::compute {

using Chip = ascendc::Chip;

// What a call on the calling thread's device is planned for. Without a meaning for the host engine, which asks the
// processor when it plans.
Chip chip();

// What stands in the way of computing it; asked for in phase one, before plan().
Finding unserved(const engine::Problem& problem);
Finding unserved(const engine::SparseProblem& problem);

// Whether a run may look at its operands. Where they are a device's, it may not: calls whose plans depend on numbers in
// tensors are refused.
bool reads_operands();

// Whether runs are to be told the ranges of their operands (engine/memory_range.h).
bool watches_memory();

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, Chip chip);
std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem& problem, Chip chip);

}  // namespace acl_attn::ops::compute
