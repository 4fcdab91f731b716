// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sim target's answer to ops/compute.h.
#include "ops/compute.h"

#include <utility>

#include "ascendc/launch/attention.h"
#include "ascendc/launch/lacking.h"
#include "ascendc/launch/sim_settings.h"
#include "ascendc/launch/sparse_attention.h"
#include "ops/profile.h"
#include "runtime/soc.h"

namespace acl_attn::ops::compute {
namespace {

constexpr int32_t kCores2201 = 24;
constexpr int32_t kCores3510 = 32;

}  // namespace

// The one that the process says it has, or else the one whose rules calls are held against.
Chip chip() {
    const runtime::Soc& soc = runtime::soc();
    if (soc.architecture != 0) return {soc.architecture, soc.cube_cores};
    switch (current_profile()) {
        case Profile::ascend910b:
        case Profile::ascend910_93: return {2201, kCores2201};
        default: return {3510, kCores3510};
    }
}

Finding unserved(const engine::Problem& problem) {
    const std::string feature = ascendc::unsupported(problem, chip());
    return feature.empty() ? Finding{} : lacking(feature);
}

Finding unserved(const engine::SparseProblem& problem) {
    const std::string feature = ascendc::unsupported(problem, chip());
    return feature.empty() ? Finding{} : lacking(feature);
}

bool reads_operands() { return true; }

bool watches_memory() { return ascendc::sim_settings().checks; }

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, Chip chip) {
    return ascendc::plan(std::move(problem), chip);
}

std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem& problem, Chip chip) {
    return ascendc::plan(problem, chip);
}

}  // namespace acl_attn::ops::compute
