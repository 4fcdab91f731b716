// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "meta/executor.h"
#include "ops/regions.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

// A call that the rules have let pass.
std::unique_ptr<meta::PreparedCall> prepare(const MetadataCase& subject);

// The memory that running the call touches.
Regions regions_of(const MetadataCase& subject);

// The position of an input in the metadata operator's signature; kInputCount beyond its last.
Input metadata_input_at(Operator op, size_t position);

}  // namespace acl_attn::ops::sparse
