// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace acl_attn::engine {

// What is wrong with ACL_ATTN_NUM_THREADS, as long as it decides; null if nothing is.
const char* thread_environment_problem();

}  // namespace acl_attn::engine
