// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The constraint catalogue of SparseFlashMla and its metadata operator as tables.
#pragma once

#include "ops/sparse_attention/catalogue.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse::mla {

// In the vendor's order of evaluation inside a tier.
extern const Group<Case> kCommonRules;
extern const Group<Case> kLengthRules;
extern const Group<Case> kCompressionRules;
extern const Group<Case> kMaskRules;
extern const Group<Case> kPagingRules;
extern const Group<Case> kOtherRules;  // sinks, metadata, LSE

extern const Group<MetadataCase> kMetadataLengthRules;

extern const Catalogue<Case> kCatalogue;
extern const Catalogue<MetadataCase> kMetadataCatalogue;

}  // namespace acl_attn::ops::sparse::mla
