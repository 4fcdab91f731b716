// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The workspace for every call of the same tensors, whatever their lengths.
#pragma once

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

// Gives a call whose lengths have no values the greatest ones that its tensors hold.
void assume_largest(Case& subject);

// At least what any call needs whose lengths lie within those of `problem`, the greatest call's.
uint64_t largest_workspace(const Case& subject, const engine::Problem& problem);

}  // namespace acl_attn::ops::fia
