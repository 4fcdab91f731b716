// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/kernel_memory.h"

#include <algorithm>

namespace acl_attn::ascendc {

void divide_rest(KernelMemory& to, Arena& arena, const KernelMemoryRoom& room) {
    to.items = arena.take<int64_t>(room.items);
    to.core_items = arena.take<int64_t>(room.core_items);
    to.merges = arena.take<int64_t>(room.merges);
    to.clears = arena.take<int64_t>(room.clears);
    to.plan_bytes = arena.used();
    to.cores = arena.take<char>(room.cores * room.core_bytes);
    to.partial_out = arena.take<float>(room.partial_rows * room.dim_v);
    to.partial_max = arena.take<float>(room.partial_rows);
    to.partial_sum = arena.take<float>(room.partial_rows);
    to.used_bytes = arena.used();
    to.bytes = arena.bytes();
}

void write_lists(const KernelMemory& to, const WorkLists& lists) {
    std::copy(lists.items.begin(), lists.items.end(), to.items);
    std::copy(lists.core_items.begin(), lists.core_items.end(), to.core_items);
    std::copy(lists.merges.begin(), lists.merges.end(), to.merges);
    std::copy(lists.clears.begin(), lists.clears.end(), to.clears);
}

void place_memory(FlashAttentionParams& to, const KernelMemory& places, const WorkLists& lists) {
    to.sequences = address(places.sequences);
    to.items = address(places.items);
    to.core_items = address(places.core_items);
    to.merges = address(places.merges);
    to.clears = address(places.clears);
    to.core_memory = address(places.cores);
    to.partial_out = address(places.partial_out);
    to.partial_max = address(places.partial_max);
    to.partial_sum = address(places.partial_sum);
    to.merge_count = static_cast<int32_t>(lists.merge_count());
    to.clear_count = static_cast<int32_t>(lists.clears.size());
}

}  // namespace acl_attn::ascendc
