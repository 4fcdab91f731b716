// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A call between the phases: the engine's schedule, and the addresses that it will run on.
#pragma once

#include <memory>

#include "meta/executor.h"
#include "ops/fused_infer_attention_score/case.h"
#include "ops/finding.h"

namespace acl_attn::ops::fia {

// `subject` has passed all rules; nothing of it is kept. Refuses what the engine does not do yet.
Finding prepare(const Case& subject, std::unique_ptr<meta::PreparedCall>* prepared);

// The same refusal, for those who only ask.
Finding unsupported(const Case& subject);

}  // namespace acl_attn::ops::fia
