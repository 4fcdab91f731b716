// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse kernels as an engine: the same problem, operands and promises as engine::SparseAttention, but for these: a
// row that lies in the same tile as rows that a token sees may be multiplied by 0, so that NaN and infinities in it may
// reach the result; and its last bits may differ with the number of query tokens in its sequence.
#pragma once

#include <memory>
#include <string>

#include "ascendc/launch/chip.h"
#include "engine/sparse.h"

namespace acl_attn::ascendc {

// What the kernels lack to serve the problem, in words; empty if they serve it. plan() then throws
// std::invalid_argument.
std::string unsupported(const engine::SparseProblem& problem, const Chip& chip);

std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem& problem, const Chip& chip);

}  // namespace acl_attn::ascendc
