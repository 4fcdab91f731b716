// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How the sim target runs kernels. The environment says it at first use: ACL_ATTN_SIM_CHECKS=1 looks for faults,
// ACL_ATTN_SIM_SEED=n runs the pipes in another order that the flags allow (with checks).
#pragma once

#include <cstdint>

namespace acl_attn::ascendc {

struct SimSettings {
    bool checks = false;
    uint64_t seed = 0;
};

SimSettings sim_settings();
void set_sim_settings(const SimSettings& settings);

}  // namespace acl_attn::ascendc
