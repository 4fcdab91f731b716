// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/finding.h"
#include "ops/sparse_attention/plan.h"

namespace acl_attn::ops::sparse {

// What the engine found in index tensors, in the operator's words.
Finding finding_of(const Planned& planned, const std::vector<engine::SparseSequence>& sequences,
                   const engine::SparseFault& fault);

}  // namespace acl_attn::ops::sparse
