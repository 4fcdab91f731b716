// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One call of the kernel API as the simulator sees it: the pipe that runs it, the bytes it touches, the work it is.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/chip.h"

namespace acl_attn::sim {

// The instruction queues of a core. Scalar operations are the program itself.
enum class Pipe : uint8_t { s, v, m, mte1, mte2, mte3, fix };
constexpr int kPipes = 7;

constexpr const char* pipe_name(Pipe pipe) {
    constexpr const char* kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return kNames[static_cast<int>(pipe)];
}

// `outer` times `rows` times `row_bytes`, each level with its own step. Addresses are bytes from the start of the
// memory, in GM the address itself. Steps may be 0 or negative.
struct Region {
    Space space = Space::gm;
    int8_t vector_core = -1;  // whose UB, if not the unit's own
    bool write = false;
    uint64_t base = 0;
    uint32_t row_bytes = 0;
    uint32_t rows = 1;
    int64_t row_step = 0;
    uint32_t outer = 1;
    int64_t outer_step = 0;
};

// What the counters and the cost model take from an operation.
enum class Path : uint8_t {
    none,
    gm_to_ub,
    gm_to_l1,
    ub_to_gm,
    ub_to_l1,
    l1_to_gm,
    l1_to_l0a,
    l1_to_l0b,
    l1_to_bias,
    l1_to_fixpipe,
    l1_to_ub,
    l0c_to_gm,
    l0c_to_l1,
    l0c_to_ub,
    ub_to_ub,
    fill,
};
constexpr int kPaths = 16;

struct Work {
    Path path = Path::none;
    uint64_t bytes = 0;         // moved
    uint64_t bursts = 0;        // contiguous pieces that they came in
    uint64_t macs = 0;          // multiply-adds asked for
    uint64_t cube_cycles = 0;   // of whole fractals, as the array runs them
    uint64_t repeats = 0;       // vector instructions of 256 bytes; of a vector function, those that compute
    uint64_t slow_repeats = 0;  // of these, the ones that take several cycles (exp, ln, div, sqrt, reductions)
    uint64_t loads = 0;         // of a vector function
    uint64_t stores = 0;
};

struct Operation {
    const char* name = "";  // of the API call, static storage
    Pipe pipe = Pipe::s;
    uint8_t unit_flag = 0;         // Mmad and Fixpipe: 2 more to come, 3 the last
    bool vector_function = false;  // finds out what it touches while it runs
    Work work;
    std::vector<Region> regions;

    void add(const Region& region) {
        if (region.row_bytes != 0 && region.rows != 0 && region.outer != 0) regions.push_back(region);
    }
};

}  // namespace acl_attn::sim
