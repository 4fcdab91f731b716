// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/targets.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/attention.h"
#include "engine/cpu_features.h"

namespace acl_attn::engine {
namespace {

struct Target {
    const Kernels* kernels;
    bool (*usable)(const CpuFeatures&);
    bool (*preferred)(const CpuFeatures&);  // over the targets before it, if usable
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
};
constexpr int kTargetCount = sizeof kTargets / sizeof kTargets[0];

std::atomic<int> g_forced{-1};

int find_target(const char* name) {
    for (int i = 0; i < kTargetCount; i++) {
        if (std::strcmp(kTargets[i].kernels->name, name) == 0) return i;
    }
    return -1;
}

int best_target() {
    int best = 0;
    for (int i = 1; i < kTargetCount; i++) {
        if (target_usable(i) && kTargets[i].preferred(cpu_features_found())) best = i;
    }
    return best;
}

struct Default {
    int index = 0;
    std::string problem;
};

// The environment is read once: a later change by another thread would race with the read.
const Default& default_target() {
    static const Default found = [] {
        Default result;
        result.index = best_target();
        const char* wish = std::getenv("ACL_ATTN_CPU");
        if (wish == nullptr || *wish == '\0') return result;
        const int index = find_target(wish);
        if (index >= 0 && target_usable(index)) {
            result.index = index;
            return result;
        }
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
    if (index != -1 && !target_usable(index)) return false;
    g_forced.store(index, std::memory_order_relaxed);
    return true;
}

std::string cpu_features() { return cpu_features_found().names; }

const Kernels& target_kernels(int index) { return *kTargets[index].kernels; }

const Kernels& target_kernels_in_fp32(int index) {
    while (kTargets[index].kernels->paired[static_cast<int>(Dtype::bf16)]) index--;
    return *kTargets[index].kernels;
}

const char* target_environment_problem() {
    const bool decides = g_forced.load(std::memory_order_relaxed) < 0;
    return decides && !default_target().problem.empty() ? default_target().problem.c_str() : nullptr;
}

}  // namespace acl_attn::engine
