// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Who does what, as kernels read it; each kind of kernel has words of its own for an item.
#pragma once

#include <cstdint>
#include <vector>

#include "ascendc/flash_attention/params.h"

namespace acl_attn::ascendc {

struct WorkLists {
    std::vector<int64_t> items;       // words, core by core
    std::vector<int64_t> core_items;  // [cores + 1]
    std::vector<int64_t> merges;      // [][kMergeWords]
    std::vector<int64_t> clears;      // sequences
    int64_t partial_rows = 0;
    int32_t cores = 0;  // that have something to do; 0: there is nothing to do

    int64_t merge_count() const { return static_cast<int64_t>(merges.size()) / kMergeWords; }
};

}  // namespace acl_attn::ascendc
