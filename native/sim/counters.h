// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a launch counts: exact work per core and pipe, and an estimate of when it would happen. Times are those of the
// model in cost.h; nothing has run on a device.
#pragma once

#include <cstdint>

#include "sim/unit.h"

namespace acl_attn::sim {

struct PipeCounts {
    uint64_t operations = 0;
    uint64_t busy_cycles = 0;  // estimate
    uint64_t sets = 0;         // flags set from this pipe
    uint64_t waits = 0;        // and waited for on it
};

struct UnitCounts {
    uint32_t core = 0;
    Role role = Role::cube;
    uint32_t sub_block = 0;
    PipeCounts pipes[kPipes];
    uint64_t path_bytes[kPaths] = {};
    uint64_t path_bursts[kPaths] = {};
    uint64_t macs = 0;
    uint64_t cube_cycles = 0;
    uint64_t vector_repeats = 0;
    uint64_t cross_sets = 0;
    uint64_t cross_waits = 0;
    uint64_t high_water[kSpaces] = {};  // bytes of each memory in use, from its start
    uint64_t end_cycle = 0;
};

struct TraceEvent {
    const char* name;
    uint32_t core;
    Role role;
    uint32_t sub_block;
    Pipe pipe;
    uint64_t start;  // cycles
    uint64_t end;
};

}  // namespace acl_attn::sim
