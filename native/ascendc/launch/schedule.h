// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a problem into items and shares them out among AI cores. How a sequence is cut depends on that sequence alone,
// so a result does not depend on its batch neighbours, nor on the number of cores.
#pragma once

#include <cstdint>
#include <vector>

#include "ascendc/flash_attention/params.h"
#include "ascendc/flash_attention/tiles.h"
#include "ascendc/launch/chip.h"
#include "ascendc/launch/table.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

constexpr int64_t kSplitKeys = 1024;  // of the keys that one row block of a decode step leaves to another core

struct Schedule {
    std::vector<int64_t> items;       // [][kItemWords]
    std::vector<int64_t> core_items;  // [cores + 1]
    std::vector<int64_t> merges;      // [][kMergeWords]
    std::vector<int64_t> clears;      // sequences
    int64_t partial_rows = 0;
    int32_t cores = 0;  // that have something to do; 0: there is nothing to do

    int64_t item_count() const { return static_cast<int64_t>(items.size()) / kItemWords; }
    int64_t merge_count() const { return static_cast<int64_t>(merges.size()) / kMergeWords; }
};

// Items among cores so that neighbours stay together: core c gets those from entry c to entry c + 1 of the result.
// `costs` are positive.
std::vector<int64_t> share_out(const std::vector<int64_t>& costs, int64_t cores);

Schedule make_schedule(const engine::Problem& problem, const Instantiation& instantiation, const Chip& chip);

}  // namespace acl_attn::ascendc
