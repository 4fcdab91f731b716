// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a problem and its operands to what a kernel is called with.
#pragma once

#include "ascendc/flash_attention/params.h"
#include "ascendc/launch/kernel_memory.h"
#include "ascendc/launch/schedule.h"
#include "ascendc/launch/table.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

// Serves the question for the size (no memory) and the run.
KernelMemory divide_memory(void* memory, const engine::Problem& problem, const Schedule& schedule,
                           const Instantiation& instantiation);

void write_plan(const KernelMemory& to, const engine::Problem& problem, const engine::Operands& operands,
                const Schedule& schedule);

// Where rows of the query, the output and the LSE are, of either operator.
void place_rows(FlashAttentionParams& to, const engine::RowLayout& query, const engine::RowLayout& out,
                const engine::RowLayout& lse);

FlashAttentionParams make_params(const KernelMemory& places, const engine::Problem& problem,
                                 const engine::Operands& operands, const Schedule& schedule,
                                 const Instantiation& instantiation);

}  // namespace acl_attn::ascendc
