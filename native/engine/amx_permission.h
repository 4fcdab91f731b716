// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Linux lets a process use the AMX tile registers only after it asked.
#pragma once

namespace acl_attn::engine {

// Whether asking may succeed. Asks nothing itself.
bool is_amx_offered();

// Asks, the first time; false if refused. Granted for the whole process and its children, for good; from then on signal
// stacks that are too small for the registers are refused, so this is for when the registers will be used.
bool ask_for_amx();

}  // namespace acl_attn::engine
