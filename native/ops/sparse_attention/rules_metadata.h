// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What both metadata operators check in the same way.
#pragma once

#include "ops/rule.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

Finding metadata_out_pointers_given(const MetadataCase& c);
Finding metadata_output_given(const MetadataCase& c);
Finding metadata_output_typed(const MetadataCase& c);
Finding metadata_heads_in_range(const MetadataCase& c);
Finding core_counts_fit(const MetadataCase& c);

// Countable sequences, dense tensors, addresses within the call's own memory.
extern const Group<MetadataCase> kMetadataHostRules;

}  // namespace acl_attn::ops::sparse
