// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The constraint catalogue of KvQuantSparseAttnSharedkv and its metadata operator as tables.
#pragma once

#include "ops/sparse_attention/catalogue.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse::kvq {

extern const Catalogue<Case> kCatalogue;
extern const Catalogue<MetadataCase> kMetadataCatalogue;

}  // namespace acl_attn::ops::sparse::kvq
