// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel: one implementation per target.
#pragma once

#include <string>

#include "ascendc/launch/sparse_table.h"
#include "ascendc/launch/table.h"
#include "ascendc/launch/watched_memory.h"

namespace acl_attn::ascendc {

// On `cores` AI cores; returns when it is done. Empty, or what went wrong in words.
std::string launch(const Instantiation& instantiation, const FlashAttentionParams& params, int32_t cores,
                   const WatchedMemory& memory);
std::string launch(const SparseInstantiation& instantiation, const SparseAttentionParams& params, int32_t cores,
                   const WatchedMemory& memory);

}  // namespace acl_attn::ascendc
