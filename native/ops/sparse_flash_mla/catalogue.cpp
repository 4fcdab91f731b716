// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_flash_mla/rules.h"

#include <iterator>

#include "ops/sparse_attention/rules_shared.h"

namespace acl_attn::ops::sparse::mla {
namespace {

const Group<Case> kGroups[] = {kCommonRules, kLengthRules, kCompressionRules, kMaskRules,
                               kPagingRules, kOtherRules,  kHostRules};

}  // namespace

const Catalogue<Case> kCatalogue{kGroups, std::size(kGroups)};

}  // namespace acl_attn::ops::sparse::mla
