// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "meta/executor.h"
#include "ops/regions.h"
#include "ops/sparse_attention/plan.h"

namespace acl_attn::ops::sparse {

// A call that the rules have let pass.
std::unique_ptr<meta::PreparedCall> prepare(const Case& subject, std::shared_ptr<const Planned> planned);

// The memory that running the call touches.
Regions regions_of(const Case& subject);

}  // namespace acl_attn::ops::sparse
