// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The libraries that CANN's compiler makes of the kernels (ascendc/launch/launcher_npu.asc): one for each generation,
// beside this library, or for one chip in the folder npu/<name of the chip> there.
#pragma once

#include <cstdint>
#include <string>

#include "ascendc/flash_attention/params.h"
#include "npu/device.h"

namespace acl_attn::npu {

// Puts the kernel of that name on the stream; all addresses are the device's. 0, or 1 if there is none of that name.
using LaunchFunction = int (*)(const char* name, const ascendc::FlashAttentionParams* params, uint32_t cores,
                               void* stream);

struct Kernels {
    std::string problem;  // why there are none; empty if they are there
    LaunchFunction launch = nullptr;
};

// Looked for when first asked for; what is found stays.
Kernels kernels_for(const Device& device);

}  // namespace acl_attn::npu
