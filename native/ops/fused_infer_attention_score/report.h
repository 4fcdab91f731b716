// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// All that is wrong with a call, for those who ask before they call.
#pragma once

#include <vector>

#include "ops/fused_infer_attention_score/call.h"
#include "ops/profile.h"

namespace acl_attn::ops::fia {

struct Report {
    std::vector<Problem> problems;  // the one that phase one reports comes first
    uint32_t accepted_by = 0;
};

// `call` is resolved.
Report make_report(const Call& call, Profile profile, Revision revision);

// Bits of the profiles under which the call is accepted, and run by the host target.
uint32_t accepting_profiles(const Call& call, Revision revision);

}  // namespace acl_attn::ops::fia
