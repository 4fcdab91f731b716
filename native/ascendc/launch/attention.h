// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels as an engine: the same problem, operands and promises as engine::Attention, computed by the AscendC
// kernels. One more difference: a key that lies in the same tile as keys that a row sees may be multiplied by 0, so
// that NaN and infinities in hidden values (not in hidden keys) may reach the row.
#pragma once

#include <memory>
#include <string>

#include "ascendc/launch/chip.h"
#include "engine/attention.h"

namespace acl_attn::ascendc {

// What the kernels lack to serve the problem, in words; empty if they serve it. plan() then throws
// std::invalid_argument.
std::string unsupported(const engine::Problem& problem, const Chip& chip);

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, const Chip& chip);

}  // namespace acl_attn::ascendc
