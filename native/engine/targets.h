// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a target's index (see attention.h) to its kernels.
#pragma once

#include <string>

#include "engine/kernels.h"

namespace acl_attn::engine {

const Kernels& target_kernels(int index);

// What is wrong with ACL_ATTN_CPU, in words; empty if nothing is.
std::string target_environment_problem();

}  // namespace acl_attn::engine
