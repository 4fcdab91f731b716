// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/memory_range.h"

namespace acl_attn::ascendc {

// All that a kernel may touch in a launch.
struct WatchedMemory {
    const engine::MemoryRanges* operands = nullptr;  // null: nobody watches
    engine::MemoryRange plan;                        // written by the host before, never by the kernel
    engine::MemoryRange workspace;                   // the kernel's own: it reads nothing there that it has not written
};

}  // namespace acl_attn::ascendc
