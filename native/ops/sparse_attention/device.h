// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The device that task lists are made for.
#pragma once

#include "ops/profile.h"
#include "ops/sparse_attention/blocking.h"

namespace acl_attn::ops::sparse {

struct PlanningDevice {
    ChipFamily family = ChipFamily::a5;
    Cores cores;
    bool is_chip = false;              // a chip by name; a host's cores are not those of the kernels
    bool is_batch_consistent = false;  // the strictest level of ACL_OPT_DETERMINISTIC
};

// As the calling thread sees it: the chip, or for a host without one the profile's; limits on cores included. A host
// counts as 2 to 36 cube cores, so that it can make lists for any number of heads.
PlanningDevice planning_device(Profile profile);

}  // namespace acl_attn::ops::sparse
