// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The catalogue as a list, for people who want to read it: rules in the order in which they are looked at, and those
// of the vendor's that the library has no check of, with the reason.
#pragma once

#include <cstddef>

#include "ops/absent.h"
#include "ops/fused_infer_attention_score/case.h"
#include "ops/rule.h"

namespace acl_attn::ops::fia {

size_t rule_count();
const Rule<Case>& rule_at(size_t index);

extern const Absent* const kAbsent;
extern const size_t kAbsentCount;

// The code of phase one for calls that break the rule.
aclnnStatus documented_status(const Rule<Case>& rule);

}  // namespace acl_attn::ops::fia
