// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase one of both operators and of their metadata operators.
#pragma once

#include "ops/sparse_attention/call.h"
#include "ops/sparse_attention/catalogue.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

aclnnStatus phase_one(const Catalogue<Case>& catalogue, Call& call, uint64_t* workspace_size,
                      aclOpExecutor** executor);

aclnnStatus phase_one(const Catalogue<MetadataCase>& catalogue, MetadataCall& call, uint64_t* workspace_size,
                      aclOpExecutor** executor);

}  // namespace acl_attn::ops::sparse
