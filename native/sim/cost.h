// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cost model: published figures of the two chips, and from them the cycles that an operation keeps its pipe busy.
// An estimate for choosing between designs, not a prediction: nothing here was measured on a device.
#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>

#include "sim/operation.h"

namespace acl_attn::sim {

struct ChipFigures {
    const char* name;
    uint32_t cores;
    double clock_ghz;
    double hbm_gb_per_s;          // of the whole chip
    double l2_gb_per_s;           // of the whole chip
    double l0a_bytes_per_cycle;   // L1 to L0A
    double l0b_bytes_per_cycle;   // L1 to L0B
    double out_bytes_per_cycle;   // L0C out, UB to L1
    double gm_bytes_per_cycle;    // the most that one core's copy engine takes
    uint32_t copy_latency;        // start-up of a copy
    uint32_t cube_latency;        // start-up of a matrix product
    uint32_t vector_latency;      // start-up and drain of a vector instruction (dav-2201) or function (dav-3510)
    bool vector_serial;           // the next one starts only then
    uint32_t slow_repeat_cycles;  // of exp, ln, div, sqrt and reductions, per 256 bytes
    uint32_t issue_cycles;        // of the scalar unit, per call
    uint32_t cross_core_cycles;   // of a flag between cores
};

const ChipFigures& chip_figures(Arch arch);

// Which global memory has been touched before: the first read of a line comes from HBM, later ones from the L2 cache.
class LineSet {
public:
    // Bytes of the region's lines that are touched for the first time: memory gives whole lines.
    uint64_t first_touch(const Region& region);
    uint64_t read_bytes() const { return read_bytes_; }  // of these, the ones that were read

private:
    static constexpr uint64_t kLine = 128;
    static constexpr uint64_t kLinesOfPage = 512;

    std::unordered_map<uint64_t, std::bitset<kLinesOfPage>> pages_;
    uint64_t read_bytes_ = 0;
};

struct OperationCost {
    uint64_t busy;     // cycles until the pipe can start its next operation
    uint64_t latency;  // and until this one's result is there
};

// `cores` share the chip's memory bandwidth.
OperationCost operation_cost(const ChipFigures& chip, const Operation& operation, uint32_t cores, LineSet& lines);

}  // namespace acl_attn::sim
