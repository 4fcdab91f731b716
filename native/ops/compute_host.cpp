// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "ops/compute.h"

namespace acl_attn::ops::compute {

Chip chip() { return {}; }

Finding unserved(const engine::Problem& problem) {
    const std::string feature = engine::unsupported(problem);
    if (feature.empty()) return {};
    return uncomputed("what the host target does", feature, "not supported yet");
}

Finding unserved(const engine::SparseProblem&) { return {}; }

bool reads_operands() { return true; }

bool watches_memory() { return false; }

std::unique_ptr<const engine::Attention> plan(engine::Problem problem, Chip) {
    return engine::Attention::plan(std::move(problem));
}

std::unique_ptr<const engine::SparseAttention> plan(const engine::SparseProblem& problem, Chip) {
    return engine::SparseAttention::plan(problem);
}

}  // namespace acl_attn::ops::compute
