// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a metadata tensor is that of the call that it is given to.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/finding.h"
#include "ops/sparse_attention/plan.h"

namespace acl_attn::ops::sparse {

// `words`: 1024. Metadata that bears no stamp, because it was made on a device, is held against the list that this
// device would make. `ori_topk`, `cmp_topk`: lists' lengths of all query rows, or null.
Finding check_metadata(const Planned& planned, const std::vector<SequenceLengths>& lengths, const int32_t* ori_topk,
                       const int32_t* cmp_topk, const uint32_t* words);

}  // namespace acl_attn::ops::sparse
