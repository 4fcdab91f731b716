// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace acl_attn::ops::sparse {

// A metadata tensor for people: the call that it was made for, if it says so, and which core does what.
std::string describe_metadata(const uint32_t* words);

}  // namespace acl_attn::ops::sparse
