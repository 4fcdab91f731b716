// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost.h"

#include <algorithm>
#include <cmath>

namespace acl_attn::sim {

namespace {

constexpr uint64_t kSector = 512;  // what a core moves to or from global memory at a time

// Cores, clocks and HBM bandwidths are those of data sheets (910B: HBM2e; 950: the DT). Buffer bandwidths are the
// vendor's rules of thumb. Assumed, for want of published figures: the L2 cache at about three times HBM, and latencies
// of the size that the documentation speaks of ("tens of cycles").
constexpr ChipFigures kChips[] = {
    {"Ascend 910B", 24, 1.8, 1600, 4800, 256, 128, 128, 128, 300, 20, 20, false, 4, 4, 300},
    {"Ascend 950", 32, 1.65, 4000, 12000, 256, 128, 128, 256, 300, 20, 20, true, 2, 4, 100},
};

double gm_cycles(const ChipFigures& chip, double bytes, double gb_per_s, uint32_t cores) {
    const double per_core =
        std::min(gb_per_s / chip.clock_ghz / std::max(1u, std::min(cores, chip.cores)), chip.gm_bytes_per_cycle);
    return bytes / per_core;
}

}  // namespace

const ChipFigures& chip_figures(Arch arch) { return kChips[arch == Arch::dav2201 ? 0 : 1]; }

uint64_t LineSet::first_touch(const Region& region) {
    uint64_t fresh = 0;
    for (uint32_t outer = 0; outer < region.outer; outer++) {
        for (uint32_t row = 0; row < region.rows; row++) {
            const uint64_t start = region.base + outer * static_cast<uint64_t>(region.outer_step) +
                                   row * static_cast<uint64_t>(region.row_step);
            const uint64_t end = start + region.row_bytes;
            for (uint64_t line = start / kLine; line * kLine < end; line++) {
                auto bit = pages_[line / kLinesOfPage][line % kLinesOfPage];
                if (bit) continue;
                bit = true;
                fresh += kLine;
            }
        }
    }
    if (!region.write) read_bytes_ += fresh;
    return fresh;
}

namespace {

struct GlobalTraffic {
    double hbm = 0;      // bytes that are read for the first time; writes stay in the cache
    double sectors = 0;  // bytes of all sectors that are touched
};

GlobalTraffic global_traffic(const Operation& operation, LineSet& lines) {
    GlobalTraffic traffic;
    for (const Region& region : operation.regions) {
        if (region.space != Space::gm) continue;
        const uint64_t fresh = lines.first_touch(region);
        if (!region.write) traffic.hbm += static_cast<double>(fresh);
        const bool dense = region.rows == 1 || region.row_step == static_cast<int64_t>(region.row_bytes);
        const uint64_t bytes = dense ? uint64_t{region.rows} * region.row_bytes : region.row_bytes;
        const uint64_t pieces = (dense ? 1 : region.rows) * uint64_t{region.outer};
        const uint64_t sectors = (region.base % kSector + bytes + kSector - 1) / kSector;
        traffic.sectors += static_cast<double>(pieces * sectors * kSector);
    }
    return traffic;
}

}  // namespace

OperationCost operation_cost(const ChipFigures& chip, const Operation& operation, uint32_t cores, LineSet& lines) {
    const Work& work = operation.work;
    const double bytes = static_cast<double>(work.bytes);
    const auto cost = [](double busy, uint64_t latency) {
        return OperationCost{static_cast<uint64_t>(busy) + 1, latency};
    };
    switch (work.path) {
        case Path::gm_to_ub:
        case Path::gm_to_l1:
        case Path::ub_to_gm:
        case Path::l1_to_gm:
        case Path::l0c_to_gm: {
            const GlobalTraffic traffic = global_traffic(operation, lines);
            double moving = std::max(gm_cycles(chip, traffic.hbm, chip.hbm_gb_per_s, cores),
                                     gm_cycles(chip, traffic.sectors, chip.l2_gb_per_s, cores));
            if (work.path == Path::l0c_to_gm) moving = std::max(moving, bytes / chip.out_bytes_per_cycle);
            return cost(moving, chip.copy_latency);
        }
        case Path::l0c_to_l1:
        case Path::l0c_to_ub:
        case Path::ub_to_l1:
        case Path::l1_to_ub:
        case Path::l1_to_bias:
        case Path::l1_to_fixpipe:
        case Path::fill: return cost(bytes / chip.out_bytes_per_cycle, chip.cube_latency);
        case Path::l1_to_l0a: return cost(bytes / chip.l0a_bytes_per_cycle, chip.cube_latency);
        case Path::l1_to_l0b: return cost(bytes / chip.l0b_bytes_per_cycle, chip.cube_latency);
        case Path::ub_to_ub:
        case Path::none: break;
    }
    if (work.cube_cycles != 0) return cost(static_cast<double>(work.cube_cycles), chip.cube_latency);
    const uint64_t repeats = work.path == Path::ub_to_ub ? work.bytes / kRepeatBytes : work.repeats - work.slow_repeats;
    // A vector function loads, computes and stores side by side.
    const uint64_t cycles = std::max({repeats + work.slow_repeats * chip.slow_repeat_cycles, work.loads, work.stores});
    return chip.vector_serial ? OperationCost{cycles + chip.vector_latency, 0}
                              : OperationCost{cycles, chip.vector_latency};
}

}  // namespace acl_attn::sim
