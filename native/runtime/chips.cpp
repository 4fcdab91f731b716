// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/chips.h"

#include <cstring>

namespace acl_attn::runtime {
namespace {

constexpr int64_t kMi = int64_t{1} << 20;
constexpr int64_t kGi = int64_t{1} << 30;

// What the chips of one architecture share.
constexpr int32_t kArch2201 = 2201;
constexpr int32_t kArch3510 = 3510;
constexpr int64_t kBuffer2201 = 192 << 10;
constexpr int64_t kBuffer3510 = 248 << 10;

constexpr Soc a2(const char* name, int32_t cubes, int64_t memory_gi, int64_t l2_mi) {
    return {name, cubes, 2 * cubes, 6, memory_gi * kGi, l2_mi * kMi, kBuffer2201, kArch2201};
}
constexpr Soc a5(const char* name, int32_t cubes, int32_t aicpus, int64_t memory_gi, int64_t l2_mi) {
    return {name, cubes, 2 * cubes, aicpus, memory_gi * kGi, l2_mi * kMi, kBuffer3510, kArch3510};
}

constexpr Soc kChips[] = {
    a2("Ascend910B1", 24, 64, 192),
    a2("Ascend910B2", 24, 64, 192),
    a2("Ascend910B3", 20, 64, 192),
    a2("Ascend910B4", 20, 32, 96),
    a2("Ascend910B4-1", 20, 32, 168),
    a2("Ascend910_9391", 24, 64, 192),
    a2("Ascend910_9392", 24, 64, 192),
    a2("Ascend910_9381", 24, 64, 192),
    a2("Ascend910_9382", 24, 64, 192),
    a2("Ascend910_9372", 20, 64, 192),
    a2("Ascend910_9362", 20, 64, 168),
    a2("Ascend910_9363", 20, 32, 168),
    a5("Ascend950PR_9599", 36, 6, 128, 128),
    a5("Ascend950PR_9589", 32, 6, 128, 128),
    a5("Ascend950PR_958b", 32, 7, 112, 112),
    a5("Ascend950PR_9579", 28, 7, 128, 128),
    a5("Ascend950PR_957b", 28, 5, 112, 112),
    a5("Ascend950PR_957c", 28, 5, 84, 112),
    a5("Ascend950PR_957d", 28, 5, 96, 96),
    a5("Ascend950PR_950z", 4, 5, 24, 16),
    a5("Ascend950DT_9591", 36, 6, 144, 128),
    a5("Ascend950DT_9592", 36, 6, 96, 128),
    a5("Ascend950DT_9595", 36, 6, 96, 128),
    a5("Ascend950DT_9596", 36, 6, 64, 128),
    a5("Ascend950DT_9581", 32, 6, 144, 128),
    a5("Ascend950DT_9582", 32, 6, 96, 128),
    a5("Ascend950DT_9585", 32, 6, 96, 128),
    a5("Ascend950DT_9586", 32, 6, 64, 128),
    a5("Ascend950DT_9583", 32, 7, 126, 112),
    a5("Ascend950DT_9584", 32, 7, 84, 112),
    a5("Ascend950DT_9587", 32, 7, 84, 112),
    a5("Ascend950DT_9588", 32, 7, 56, 112),
    a5("Ascend950DT_9571", 28, 7, 144, 128),
    a5("Ascend950DT_9572", 28, 7, 96, 128),
    a5("Ascend950DT_9575", 28, 7, 96, 128),
    a5("Ascend950DT_9576", 28, 7, 64, 128),
    a5("Ascend950DT_9573", 28, 5, 126, 112),
    a5("Ascend950DT_9574", 28, 5, 84, 112),
    a5("Ascend950DT_9577", 28, 5, 84, 112),
    a5("Ascend950DT_9578", 28, 5, 56, 112),
    a5("Ascend950DT_950x", 8, 5, 24, 32),
    a5("Ascend950DT_950y", 8, 5, 16, 32),
};

}  // namespace

const Soc* find_chip(const char* name) noexcept {
    for (const Soc& chip : kChips) {
        if (std::strcmp(chip.name, name) == 0) return &chip;
    }
    return nullptr;
}

}  // namespace acl_attn::runtime
