// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/memory_range.h"

namespace acl_attn::ascendc {

// All that a kernel may touch in a launch.
struct LaunchMemory {
    const engine::MemoryRanges* operands = nullptr;  // null: nobody watches
    engine::MemoryRange plan;                        // for the kernel to read
    engine::MemoryRange workspace;                   // the kernel's own: it reads nothing there that it has not written
    const void* image = nullptr;                     // what the launch is to copy to `plan` first; null: it is there
};

}  // namespace acl_attn::ascendc
