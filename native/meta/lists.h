// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace acl_attn::meta {

// What a list handle stands for: the handles of its members, claimed by it, so that they live as long as it does. Not
// the members themselves, because aclSetRawTensorAddr on a member must show through the list.
struct Members {
    std::vector<const void*> handles;
};

}  // namespace acl_attn::meta
