// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a problem and its operands to what a kernel is called with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascendc/flash_attention/params.h"
#include "ascendc/launch/schedule.h"
#include "ascendc/launch/table.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

// A run's workspace: the plan, what cores hand over, and partial rows.
struct KernelMemory {
    size_t bytes = 0;       // whatever the address's alignment
    size_t plan_bytes = 0;  // from `sequences` on
    size_t used_bytes = 0;  // from there on, too: with all that follows
    int64_t* sequences = nullptr;
    int64_t* items = nullptr;
    int64_t* core_items = nullptr;
    int64_t* merges = nullptr;
    int64_t* clears = nullptr;
    char* cores = nullptr;
    float* partial_out = nullptr;
    float* partial_max = nullptr;
    float* partial_sum = nullptr;

    engine::MemoryRange plan() const { return {sequences, plan_bytes, "the plan", false}; }
    engine::MemoryRange workspace() const { return {cores, used_bytes - plan_bytes, "workspace", true}; }
};

// Serves the question for the size (no memory) and the run.
KernelMemory divide_memory(void* memory, const engine::Problem& problem, const Schedule& schedule,
                           const Instantiation& instantiation);

void write_plan(const KernelMemory& to, const engine::Problem& problem, const engine::Operands& operands,
                const Schedule& schedule);

void place_memory(FlashAttentionParams& to, const KernelMemory& places);

FlashAttentionParams make_params(const KernelMemory& places, const engine::Problem& problem,
                                 const engine::Operands& operands, const Schedule& schedule,
                                 const Instantiation& instantiation);

}  // namespace acl_attn::ascendc
