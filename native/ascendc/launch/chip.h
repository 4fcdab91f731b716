// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace acl_attn::ascendc {

// What a launch is planned for.
struct Chip {
    int32_t architecture = 2201;  // 2201 or 3510
    int32_t cores = 24;           // AI cores
};

}  // namespace acl_attn::ascendc
