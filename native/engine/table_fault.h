// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention.h"
#include "geometry/paged.h"

namespace acl_attn::engine {

// The first entry of the block table, inside the range that lengths make reachable, that names no block.
inline Fault find_table_fault(const Problem& problem, const Operands& operands) {
    if (problem.block_size == 0) return {};
    for (size_t i = 0; i < problem.sequences.size(); i++) {
        const Sequence& s = problem.sequences[i];
        if (s.q_len == 0) continue;  // nothing of it is read
        const int64_t columns = geometry::blocks_for(s.kv_len - problem.prefix_len, problem.block_size);
        for (int64_t column = 0; column < columns; column++) {
            const int32_t entry = operands.block_table[s.table_offset + column];
            if (entry < 0 || entry >= problem.block_count) {
                Fault fault;
                fault.found = true;
                fault.sequence = static_cast<int64_t>(i);
                fault.column = column;
                fault.value = entry;
                return fault;
            }
        }
    }
    return {};
}

}  // namespace acl_attn::engine
