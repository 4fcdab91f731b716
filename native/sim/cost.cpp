// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost.h"

#include <algorithm>
#include <cmath>

namespace acl_attn::sim {

namespace {

constexpr uint64_t kPage = 4096;

// Cores, clocks and HBM bandwidths are those of published data sheets (64 GB HBM2e; 950DT). The buffer bandwidths are
// the vendor's rules of thumb. Latencies are round numbers of the size that the documentation speaks of ("tens of
// cycles").
constexpr ChipFigures kChips[] = {
    {"Ascend 910B", 24, 1.8, 1600, 4800, 256, 128, 128, 128, 8, 300, 20, 20, false, 4, 4, 300},
    {"Ascend 950", 32, 1.65, 4000, 9600, 256, 128, 128, 256, 4, 300, 20, 20, true, 4, 4, 100},
};

double gm_cycles(const ChipFigures& chip, double bytes, double gb_per_s, uint32_t cores) {
    const double per_core =
        std::min(gb_per_s / chip.clock_ghz / std::max(1u, std::min(cores, chip.cores)), chip.gm_bytes_per_cycle);
    return bytes / per_core;
}

}  // namespace

const ChipFigures& chip_figures(Arch arch) { return kChips[arch == Arch::dav2201 ? 0 : 1]; }

uint64_t PageSet::first_touch(const Region& region) {
    uint64_t fresh = 0;
    for (uint32_t outer = 0; outer < region.outer; outer++) {
        for (uint32_t row = 0; row < region.rows; row++) {
            const uint64_t start = region.base + outer * region.outer_step + row * region.row_step;
            const uint64_t end = start + region.row_bytes;
            for (uint64_t page = start / kPage; page * kPage < end; page++) {
                if (!pages_.insert(page).second) continue;
                fresh += std::min(end, (page + 1) * kPage) - std::max(start, page * kPage);
            }
        }
    }
    if (!region.write) read_bytes_ += fresh;
    return fresh;
}

namespace {

// Of the region's bytes in GM that are touched, those that come from HBM. Writes stay in the cache.
double from_hbm(const Operation& operation, PageSet& pages) {
    uint64_t fresh = 0;
    for (const Region& region : operation.regions) {
        if (region.space != Space::gm) continue;
        const uint64_t touched = pages.first_touch(region);
        if (!region.write) fresh += touched;
    }
    return std::min(static_cast<double>(fresh), static_cast<double>(operation.work.bytes));
}

}  // namespace

OperationCost operation_cost(const ChipFigures& chip, const Operation& operation, uint32_t cores, PageSet& pages) {
    const Work& work = operation.work;
    const double bytes = static_cast<double>(work.bytes);
    const double bursts = static_cast<double>(work.bursts) * chip.burst_cycles;
    const auto cost = [](double busy, uint64_t latency) {
        return OperationCost{static_cast<uint64_t>(busy) + 1, latency};
    };
    switch (work.path) {
        case Path::gm_to_ub:
        case Path::gm_to_l1:
        case Path::ub_to_gm:
        case Path::l1_to_gm:
        case Path::l0c_to_gm: {
            const double far = from_hbm(operation, pages);
            double moving =
                gm_cycles(chip, far, chip.hbm_gb_per_s, cores) + gm_cycles(chip, bytes - far, chip.l2_gb_per_s, cores);
            if (work.path == Path::l0c_to_gm) moving = std::max(moving, bytes / chip.out_bytes_per_cycle);
            return cost(std::max(moving, bursts), chip.copy_latency);
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
    const uint64_t cycles = repeats + work.slow_repeats * chip.slow_repeat_cycles;
    return chip.vector_serial ? OperationCost{cycles + chip.vector_latency, 0}
                              : OperationCost{cycles, chip.vector_latency};
}

}  // namespace acl_attn::sim
