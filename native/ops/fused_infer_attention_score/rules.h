// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator's constraint catalogue as tables, in the order in which they are looked at: the front layer and the
// parser, then a file for each parameter group. Every rule stands once; where a product and profile host draw a line at
// different places, the rule's function asks the case whose rules it is held against.
#pragma once

#include "ops/fused_infer_attention_score/case.h"
#include "ops/rule.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {

// 161002 where no kernel is registered for the call's types, which the vendor's front layer finds before anything else;
// 561002 where one is. Rules with this status tell which type it is.
constexpr aclnnStatus kTypeStatus = -ACLNN_ERR_PARAM_INVALID;

extern const Group<Case> kFrontRules;
extern const Group<Case> kParserRules;
extern const Group<Case> kCommonRules;
extern const Group<Case> kCommonStorageRules;
extern const Group<Case> kCommonLimitRules;
extern const Group<Case> kCommonShapeRules;
extern const Group<Case> kMaskRules;
extern const Group<Case> kLengthRules;
extern const Group<Case> kPagingRules;
extern const Group<Case> kCacheRules;
extern const Group<Case> kPostQuantRules;
extern const Group<Case> kRopeRules;
extern const Group<Case> kRopeShapeRules;
extern const Group<Case> kPseRules;
extern const Group<Case> kPaddingRules;
extern const Group<Case> kPrefixRules;
extern const Group<Case> kLseRules;
extern const Group<Case> kSinkRules;
extern const Group<Case> kUnusedRules;
extern const Group<Case> kAntiquantRules;
extern const Group<Case> kAntiquantScaleRules;
extern const Group<Case> kPerTensorRules;
extern const Group<Case> kMlaQuantRules;
extern const Group<Case> kGroupQuantRules;
extern const Group<Case> kMemoryRules;

// Whether a kernel is registered for the types of query, key, value, pseShift, attenMask and attentionOut.
bool types_registered(const Case& subject);
// Of a call whose types are not: whether that is best said as such, rather than by what a rule wants of the class that
// such a call would have. Queries of 32-bit floats, or of another 16-bit type than keys.
bool is_plain_type_mistake(const Case& subject);

// The first thing that is wrong under the case's profile, in the vendor's order.
Finding first_finding(const Case& subject);

// What the host target needs beyond that, or cannot do: a call that a product takes need not be one that it can run.
Finding first_target_finding(Case& subject);

}  // namespace acl_attn::ops::fia
