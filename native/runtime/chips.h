// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/soc.h"

namespace acl_attn::runtime {

// The figures of a chip by the name that CANN's aclrtGetSocName gives; null for one that the table does not have.
const Soc* find_chip(const char* name) noexcept;

}  // namespace acl_attn::runtime
