// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "acl/acl_rt.h"
#include "ascendc/launch/chip.h"

namespace acl_attn::npu {

// The chip of the calling thread's device. Architecture 0 where CANN does not say or it is none that kernels are for.
struct Device {
    const char* name = "";
    ascendc::Chip chip = {0, 0};
};
Device current_device();

// The stream that the task of the calling thread puts its work on.
aclrtStream stream_of_task() noexcept;

}  // namespace acl_attn::npu
