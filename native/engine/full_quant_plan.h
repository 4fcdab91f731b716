// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Between a problem with quantised queries (full_quant.h) and its kernels.
#pragma once

#include <string>

#include "engine/attention.h"
#include "engine/full_quant_kernels.h"
#include "engine/schedule.h"
#include "engine/workspace.h"

namespace acl_attn::engine {

// As unsupported(), for a problem whose queries are quantised.
std::string unsupported_full_quant(const Problem& problem);

const FullQuantKernel& full_quant_kernel(const Kernels& kernels, const Problem& problem);

FullQuantScratch divide_full_quant_scratch(Arena& arena, const Problem& problem, const Schedule& schedule,
                                           const Kernels& kernels);

// Adds to the `rows` of KV head kv_head what only quantised queries have.
FullQuantBlock full_quant_block(const Problem& problem, const Operands& operands, const Sequence& sequence,
                                int64_t kv_head, const RowBlock& rows);

}  // namespace acl_attn::engine
