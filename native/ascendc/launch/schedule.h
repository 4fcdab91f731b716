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
#include "ascendc/launch/work_lists.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

constexpr int64_t kSplitKeys = 1024;  // of the keys that one row block of a decode step leaves to another core

struct Schedule : WorkLists {
    int64_t item_count() const { return static_cast<int64_t>(items.size()) / kItemWords; }
};

// Items among cores so that neighbours stay together: core c gets those from entry c to entry c + 1 of the result.
// `costs` are positive.
std::vector<int64_t> share_out(const std::vector<int64_t>& costs, int64_t cores);

Schedule make_schedule(const engine::Problem& problem, const Instantiation& instantiation, const Chip& chip);

}  // namespace acl_attn::ascendc
