// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator's constraint catalogue as tables, one file a parameter group. What stands here is what the mathematics
// and the safety of memory need, and what is not supported yet; limits of single products are not enforced.
#pragma once

#include "ops/fused_infer_attention_score/case.h"
#include "ops/rule.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {

// Before anything is interpreted: pointers, handles, types.
Finding front_findings(const Call& call);

extern const Group<Case> kCommonRules;
extern const Group<Case> kMaskRules;
extern const Group<Case> kLengthRules;
extern const Group<Case> kPagingRules;
extern const Group<Case> kLseRules;
extern const Group<Case> kPostQuantRules;
extern const Group<Case> kRopeRules;
extern const Group<Case> kPseRules;
extern const Group<Case> kPaddingRules;
extern const Group<Case> kPrefixRules;
extern const Group<Case> kSinkRules;
extern const Group<Case> kUnusedRules;
extern const Group<Case> kAntiquantRules;
extern const Group<Case> kFullQuantRules;
extern const Group<Case> kMemoryRules;

// All of them in evaluation order, classification included. On success `subject` is filled.
Finding first_finding(Case& subject);

}  // namespace acl_attn::ops::fia
