// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory of a run, for targets that watch what their kernels touch (the simulator with its checks on). Whoever
// binds a call to addresses asks ops::compute::watches_memory() and, if so, hands over in the operands what each tensor
// occupies; the target adds its plan and workspace. An access outside of all ranges is a fault then, so all operands
// must be listed. Without a list (null) accesses to global memory are not watched.
#pragma once

#include <cstdint>
#include <vector>

namespace acl_attn::engine {

struct MemoryRange {
    const void* begin = nullptr;
    uint64_t bytes = 0;
    const char* name = "";  // the parameter's, for messages; static storage
    bool is_written = false;
};

using MemoryRanges = std::vector<MemoryRange>;

}  // namespace acl_attn::engine
