// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sim_entry.h"

#include <cstring>
#include <exception>
#include <string>

#include "ascendc/launch/kernels.h"
#include "ascendc/launch/launcher.h"

namespace acl_attn::ascendc {
namespace {

std::string run(const char* name, const FlashAttentionParams& params, uint32_t cores,
                const engine::MemoryRanges& ranges) {
    LaunchMemory memory;
    memory.operands = &ranges;
    for (const Instantiation& one : kInstantiations) {
        if (std::strcmp(one.name, name) == 0) return launch(one, params, static_cast<int32_t>(cores), memory);
    }
    return std::string(name) + ": expected the name of a kernel";
}

}  // namespace
}  // namespace acl_attn::ascendc

const char* acl_attn_sim_launch(const char* name, const acl_attn::ascendc::FlashAttentionParams* params,
                                uint32_t cores, const acl_attn::engine::MemoryRange* ranges, size_t count) {
    static thread_local std::string failure;
    try {
        failure = acl_attn::ascendc::run(name, *params, cores, {ranges, ranges + count});
    } catch (const std::exception& problem) {
        failure = problem.what();
    }
    return failure.empty() ? nullptr : failure.c_str();
}
