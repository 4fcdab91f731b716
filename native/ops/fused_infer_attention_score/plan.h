// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

// The engine's problem for a call that all rules have passed. Sequence b of the problem is sequence b of the call.
engine::Problem make_problem(const Case& subject);

}  // namespace acl_attn::ops::fia
