// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel: one implementation for each target.
#pragma once

#include <string>

#include "ascendc/launch/sparse_table.h"
#include "ascendc/launch/table.h"
#include "ascendc/launch/launch_memory.h"

namespace acl_attn::ascendc {

// Whether the host can reach what addresses stand for. Where it cannot, it does not look at block tables, and plans are
// copied (LaunchMemory::image).
bool shares_memory();

// On `cores` AI cores. Returns when it is done or, without shared memory, when it is on the stream of the calling
// thread's task. Empty, or what went wrong in words.
std::string launch(const Instantiation& instantiation, const FlashAttentionParams& params, int32_t cores,
                   const LaunchMemory& memory);
std::string launch(const SparseInstantiation& instantiation, const SparseAttentionParams& params, int32_t cores,
                   const LaunchMemory& memory);

}  // namespace acl_attn::ascendc
