// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Running a kernel: `blocks` AI cores, each a cube core and two vector cores, all of which call the same function. A
// kernel's fault ends the launch and comes back as text; a launch throws nothing but bad_alloc and prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/counters.h"

namespace acl_attn::sim {

// A piece of global memory that the kernel may use.
struct Buffer {
    const void* address;
    uint64_t bytes;
    const char* name;  // for messages, static storage
    bool writable;
    // Workspace: filled with NaN patterns first; a read of what this launch has not written is a fault (needs checks).
    bool poison = false;
};

struct LaunchOptions {
    Arch arch = Arch::dav2201;
    uint32_t blocks = 1;
    // Look for faults: bounds, alignment, ranges of parameters, flags, races, use of what nobody wrote (poison).
    bool checks = false;
    // With checks: 0 runs operations as early as possible; other numbers run the pipes in a random order that the flags
    // allow. Results must not differ.
    uint64_t seed = 0;
    // Of the checks, the one for operations on the same bytes that nothing puts in order. Without it, random orders
    // show such a fault only by a wrong result.
    bool races = true;
    // Count the work and estimate times (counters.h).
    bool counts = false;
    // With counts: move and compute nothing, for calls too large to simulate. Scalar accesses still happen, so control
    // flow has to depend on inputs in GM only.
    bool dry = false;
    // With counts: keep every operation of this core (trace), -1: of none.
    int32_t traced_core = -1;
    // Where GM accesses must lie, if not empty (needs checks).
    std::vector<Buffer> buffers;
    // Host threads that run the cores if neither checks nor counts are wanted; 0: as many as there are processors.
    uint32_t threads = 1;
};

struct LaunchResult {
    bool ok = false;
    std::string error;              // what, where, and the state of all cores if they wait for each other
    std::vector<UnitCounts> units;  // with counts: per core the cube core, then both vector cores
    std::vector<TraceEvent> trace;
    uint64_t cycles = 0;     // with counts: estimate from the first start to the last end
    uint64_t hbm_bytes = 0;  // with counts: read from global memory for the first time
};

LaunchResult launch(const LaunchOptions& options, const std::function<void()>& kernel);

}  // namespace acl_attn::sim
