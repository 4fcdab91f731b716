// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace acl_attn::engine {

// What is wrong with ACL_ATTN_NUM_THREADS, in words; empty if nothing is.
std::string thread_environment_problem();

}  // namespace acl_attn::engine
