// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <mutex>

#include "ascendc/launch/launcher.h"
#include "ascendc/launch/sim_settings.h"
#include "engine/attention.h"
#include "sim/launch.h"
#include "sim/profile.h"

namespace acl_attn::ascendc {
namespace {

SimSettings from_environment() {
    const char* checks = std::getenv("ACL_ATTN_SIM_CHECKS");
    const char* seed = std::getenv("ACL_ATTN_SIM_SEED");
    SimSettings settings;
    settings.checks = checks != nullptr && *checks != '\0' && *checks != '0';
    if (seed != nullptr) settings.seed = std::strtoull(seed, nullptr, 10);
    return settings;
}

std::mutex g_lock;

SimSettings& current() {
    static SimSettings settings = from_environment();
    return settings;
}

sim::Buffer buffer_of(const engine::MemoryRange& range, bool is_workspace = false) {
    return {range.begin, range.bytes, range.name, range.is_written, is_workspace};
}

std::vector<sim::Buffer> buffers_of(const LaunchMemory& memory) {
    std::vector<sim::Buffer> buffers;
    if (memory.operands == nullptr) return buffers;
    for (const engine::MemoryRange& range : *memory.operands) buffers.push_back(buffer_of(range));
    buffers.push_back(buffer_of(memory.plan));
    buffers.push_back(buffer_of(memory.workspace, true));
    return buffers;
}

template <class Instantiated, class Params>
std::string simulate(const Instantiated& instantiation, const Params& params, int32_t cores,
                     const LaunchMemory& memory) {
    const SimSettings settings = sim_settings();
    sim::LaunchOptions options;
    options.arch = instantiation.architecture == 2201 ? sim::Arch::dav2201 : sim::Arch::dav3510;
    options.blocks = static_cast<uint32_t>(cores);
    options.checks = settings.checks;
    options.seed = settings.seed;
    if (settings.checks) options.buffers = buffers_of(memory);
    options.threads = static_cast<uint32_t>(engine::thread_count());
    sim::ask_for_profile(options);
    const sim::LaunchResult result = sim::launch(options, [&] { instantiation.kernel(params); });
    const std::string unwritten = sim::write_profile(options, result, instantiation.name);
    if (result.ok) return unwritten;
    return std::string(instantiation.name) + ": " + (result.error.empty() ? "the simulation failed" : result.error);
}

}  // namespace

SimSettings sim_settings() {
    const std::lock_guard<std::mutex> hold(g_lock);
    return current();
}

void set_sim_settings(const SimSettings& settings) {
    const std::lock_guard<std::mutex> hold(g_lock);
    current() = settings;
}

bool shares_memory() { return true; }

std::string launch(const Instantiation& instantiation, const FlashAttentionParams& params, int32_t cores,
                   const LaunchMemory& memory) {
    return simulate(instantiation, params, cores, memory);
}

std::string launch(const SparseInstantiation& instantiation, const SparseAttentionParams& params, int32_t cores,
                   const LaunchMemory& memory) {
    return simulate(instantiation, params, cores, memory);
}

}  // namespace acl_attn::ascendc
