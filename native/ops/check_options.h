// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Whose rules a check asks, whichever operator it is about.
#pragma once

#include "acl_attn/rules.h"
#include "ops/profile.h"

namespace acl_attn::ops {

// Refuses numbers that are no profile or edition, as the calling thread's recent error. `options` may be null.
aclnnStatus check_options(const aclAttnCheckOptions* options);

// What was chosen, or what is in force. The options have been checked.
Profile chosen_profile(const aclAttnCheckOptions* options) noexcept;
Revision chosen_revision(const aclAttnCheckOptions* options) noexcept;

}  // namespace acl_attn::ops
