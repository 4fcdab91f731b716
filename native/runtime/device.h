// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"

namespace acl_attn::runtime {

constexpr int32_t kMaxDevices = 64;
int32_t device_count() noexcept;
// 107001 and a message for a number out of range.
aclError check_device(const char* parameter, int64_t device);
// The calling thread's; the first one if it has none.
int32_t current_device() noexcept;
// Physical memory of the machine.
uint64_t total_memory() noexcept;

}  // namespace acl_attn::runtime
