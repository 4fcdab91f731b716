// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From a target's index (see attention.h) to its kernels.
#pragma once

#include "engine/kernels.h"

namespace acl_attn::engine {

const Kernels& target_kernels(int index);

// Those of the nearest target at or before it that computes bf16 in fp32. The pair form's error is a small part of a
// 16-bit output's last place, but a large part of the steps that are lost or won where an output is quantised.
const Kernels& target_kernels_in_fp32(int index);

// What is wrong with ACL_ATTN_CPU, as long as it decides; null if nothing is.
const char* target_environment_problem();

}  // namespace acl_attn::engine
