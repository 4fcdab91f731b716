// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The npu target's answer to ops/compute.h.
#include <stdexcept>
#include <utility>

#include "ascendc/launch/attention.h"
#include "ascendc/launch/lacking.h"
#include "npu/cann.h"
#include "npu/device.h"
#include "npu/kernels.h"
#include "ops/compute.h"

namespace acl_attn::ops::compute {

Chip chip() { return npu::current_device().chip; }

Finding unserved(const engine::Problem& problem) {
    const npu::Device device = npu::current_device();
    std::string problem_of_place = npu::cann().problem;
    if (problem_of_place.empty()) problem_of_place = npu::kernels_for(device).problem;
    if (!problem_of_place.empty()) {
        return uncomputed("CANN's runtime, and kernels for its chip", problem_of_place,
                          "CANN's compiler builds them: see the guide to Ascend machines");
    }
    const std::string feature = ascendc::unsupported(problem, device.chip);
    return feature.empty() ? Finding{} : lacking(feature);
}

Finding unserved(const engine::SparseProblem&) { return lacking("sparse attention on a stream of an NPU"); }

bool reads_operands() { return false; }

bool watches_memory() { return false; }

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, Chip chip) {
    return ascendc::plan(std::move(problem), chip);
}

std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem&, Chip) {
    throw std::invalid_argument("sparse attention");  // unserved() has refused it
}

}  // namespace acl_attn::ops::compute
