// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/device.h"

#include <algorithm>

#include "acl/acl_rt.h"
#include "runtime/settings.h"
#include "runtime/soc.h"

namespace acl_attn::ops::sparse {
namespace {

constexpr int32_t kArchitectureOfA2 = 2201;
constexpr int64_t kStrictestLevel = 3;

int cores(aclrtDevResLimitType type) {
    uint32_t count = 0;
    return aclrtGetResInCurrentThread(type, &count) == ACL_SUCCESS ? static_cast<int>(count) : 0;
}

}  // namespace

PlanningDevice planning_device(Profile profile) {
    PlanningDevice device;
    device.cores = {cores(ACL_RT_DEV_RES_CUBE_CORE), cores(ACL_RT_DEV_RES_VECTOR_CORE)};
    device.is_batch_consistent = runtime::system_parameter(ACL_OPT_DETERMINISTIC, 0) == kStrictestLevel;
    const runtime::Soc& chip = runtime::soc();
    bool is_older = chip.architecture == kArchitectureOfA2;
    device.is_chip = chip.architecture != 0;
    if (!device.is_chip) {  // a processor
        is_older = (kOlderBits & bit(profile)) != 0;
        device.cores = {std::clamp(device.cores.cube, 2, kMaxCubeCores),
                        std::clamp(device.cores.vector, 2, kMaxVectorCores)};
    }
    device.family = is_older ? ChipFamily::a2_a3 : ChipFamily::a5;
    return device;
}

}  // namespace acl_attn::ops::sparse
