// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of the AscendC kernels have in common.
#pragma once

#include <string>

#include "ascendc/launch/chip.h"
#include "engine/attention.h"

namespace engine_test {

using acl_attn::ascendc::Chip;

inline constexpr int32_t kCores = 3;

// Probabilities are rounded to the query's type before they meet the values, so that errors are about twice an
// output's.
inline double rms_limit_of(acl_attn::engine::Dtype dtype) {
    return dtype == acl_attn::engine::Dtype::f16 ? 0.00060 : 0.0045;
}
inline constexpr double kKernelLseLimit = 4e-6;

inline std::string name_of(const Chip& chip) { return " [dav-" + std::to_string(chip.architecture) + "]"; }

}  // namespace engine_test
