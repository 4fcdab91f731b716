// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

// E8M0 scales stand in pairs; a row or a column of any length has whole ones.
constexpr int64_t kHalves = 2;
constexpr int64_t kPaired = engine::kScaledGroup * kHalves;  // channels or tokens that a pair is for
constexpr int64_t kRun = 16;                                  // tokens or channels that NZ scales keep together

constexpr int64_t pairs(int64_t n) { return n / kPaired + (n % kPaired != 0); }

// Where the scales of quantised queries, keys and values lie, whose shapes the rules have checked. Nothing to do for
// calls of other classes, or without a key.
void place_full_quant(const Case& subject, engine::Problem& problem);

}  // namespace acl_attn::ops::fia
