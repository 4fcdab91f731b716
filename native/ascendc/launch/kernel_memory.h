// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A run's memory, divided in the same way for all kernels: words about sequences, the lists of the schedule, what cores
// hand over, and partial rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascendc/flash_attention/params.h"
#include "ascendc/launch/arena.h"
#include "ascendc/launch/work_lists.h"
#include "engine/memory_range.h"

namespace acl_attn::ascendc {

// The plan is sequences and lists; the rest is the kernels' to write.
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

// How much of everything behind the sequences.
struct KernelMemoryRoom {
    int64_t items, core_items, merges, clears;  // words
    int64_t cores, core_bytes;
    int64_t partial_rows, dim_v;
};

// Divides what the arena has left; `to.sequences` has been taken from it.
void divide_rest(KernelMemory& to, Arena& arena, const KernelMemoryRoom& room);

void write_lists(const KernelMemory& to, const WorkLists& lists);

void place_memory(FlashAttentionParams& to, const KernelMemory& places, const WorkLists& lists);

}  // namespace acl_attn::ascendc
