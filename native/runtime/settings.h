// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"

namespace acl_attn::runtime {

// What aclrtSetSysParamOpt set, else `otherwise`. Leaves no error behind, as asking through aclrtGetSysParamOpt would.
int64_t system_parameter(aclSysParamOpt opt, int64_t otherwise) noexcept;

}  // namespace acl_attn::runtime
