// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans on their way to the device. CANN copies asynchronously from pinned host memory only, and the caller's executor
// may be gone, or run again, before a copy has been made: so each run's plan has a piece of pinned memory of its own,
// which is used again when an event behind the copy has been passed. Nothing waits.
#pragma once

#include <cstddef>
#include <string>

#include "acl/acl_rt.h"

namespace acl_attn::npu {

// Empty, or what went wrong.
std::string copy_plan(void* to, const void* image, size_t bytes, aclrtStream stream);

}  // namespace acl_attn::npu
