// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/targets.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/amx_permission.h"
#include "engine/attention.h"
#include "engine/cpu_features.h"

namespace acl_attn::engine {
namespace {

bool nothing() { return true; }

struct Target {
    const Kernels* kernels;
    bool (*usable)(const CpuFeatures&);
    bool (*preferred)(const CpuFeatures&);  // over the targets before it, if usable
    bool (*prepare)() = nothing;            // before its first use; false: not usable after all
};

bool always(const CpuFeatures&) { return true; }

constexpr Target kTargets[] = {
    {&kKernelsPortable, always, always},
#ifdef ACL_ATTN_X86
    {&kKernelsAvx2, [](const CpuFeatures& f) { return f.avx2; }, always},
    {&kKernelsAvx512, [](const CpuFeatures& f) { return f.avx512; }, always},
    {&kKernelsAvx512Vnni, [](const CpuFeatures& f) { return f.avx512_vnni; }, always},
    {&kKernelsAvx512Bf16, [](const CpuFeatures& f) { return f.avx512_bf16; },
     [](const CpuFeatures& f) { return f.fast_bf16_dot; }},
#endif
#ifdef ACL_ATTN_AMX
    {&kKernelsAmx, [](const CpuFeatures& f) { return f.amx && is_amx_offered(); }, always, ask_for_amx},
#endif
};
constexpr int kTargetCount = sizeof kTargets / sizeof kTargets[0];

std::atomic<int> g_forced{-1};

int find_target(const char* name) {
    for (int i = 0; i < kTargetCount; i++) {
        if (std::strcmp(kTargets[i].kernels->name, name) == 0) return i;
    }
    return -1;
}

bool choose(int index) { return target_usable(index) && kTargets[index].prepare(); }

int best_target() {
    for (int i = kTargetCount - 1; i > 0; i--) {
        if (target_usable(i) && kTargets[i].preferred(cpu_features_found()) && choose(i)) return i;
    }
    return 0;
}

struct Default {
    int index = 0;
    std::string problem;
};

// The environment is read once: a later change by another thread would race with the read.
const Default& default_target() {
    static const Default found = [] {
        Default result;
        const char* wish = std::getenv("ACL_ATTN_CPU");
        const bool has_wish = wish != nullptr && *wish != '\0';
        const int index = has_wish ? find_target(wish) : -1;
        if (index >= 0 && choose(index)) {
            result.index = index;
            return result;
        }
        result.index = best_target();
        if (!has_wish) return result;
        result.problem = std::string("ACL_ATTN_CPU: expected one of");
        for (int i = 0; i < kTargetCount; i++) {
            if (target_usable(i)) result.problem += std::string(i == 0 ? " " : ", ") + target_name(i);
        }
        result.problem += std::string(", got ") + wish + "; unset it to use " + target_name(result.index);
        return result;
    }();
    return found;
}

}  // namespace

int target_count() { return kTargetCount; }

const char* target_name(int index) {
    return index >= 0 && index < kTargetCount ? kTargets[index].kernels->name : nullptr;
}

bool target_usable(int index) {
    return index >= 0 && index < kTargetCount && kTargets[index].usable(cpu_features_found());
}

int target_in_use() {
    const int forced = g_forced.load(std::memory_order_relaxed);
    return forced >= 0 ? forced : default_target().index;
}

bool force_target(int index) {
    if (index != -1 && !choose(index)) return false;
    g_forced.store(index, std::memory_order_relaxed);
    return true;
}

std::string cpu_features() { return cpu_features_found().names; }

const Kernels& target_kernels(int index) { return *kTargets[index].kernels; }

const Kernels& target_kernels_in_fp32(int index) {
    while (kTargets[index].kernels->form[static_cast<int>(Dtype::bf16)].depth > 1) index--;
    return *kTargets[index].kernels;
}

const char* target_environment_problem() {
    const bool decides = g_forced.load(std::memory_order_relaxed) < 0;
    return decides && !default_target().problem.empty() ? default_target().problem.c_str() : nullptr;
}

}  // namespace acl_attn::engine
