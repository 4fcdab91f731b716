// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "acl/acl_base.h"

namespace acl_attn {

int element_bits(aclDataType dtype) noexcept;          // 0 for types without a size, and for numbers that are no type
const char* element_name(aclDataType dtype) noexcept;  // "FLOAT16", "BF16", ... as the vendor's pages spell them

}  // namespace acl_attn
