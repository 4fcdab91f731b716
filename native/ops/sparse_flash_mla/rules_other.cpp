// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

constexpr Rule<Case> kRules[] = {
    {"SMLA-017", Tier::single, sinks_typed, kEverywhere, "sinks", "FLOAT, one axis"},
    {"SMLA-018", Tier::single, metadata_typed, kEverywhere, "metadata", "INT32, (1024)"},
    {"SMLA-021", Tier::existence, sinks_given, kEverywhere, "sinks", "required", Known::tensors},
    {"SMLA-022", Tier::existence, metadata_given, kEverywhere, "metadata", "required", Known::tensors},
    {"SMLA-063", Tier::consistency, sinks_length, kEverywhere, "sinks", "one for each head"},
    {"SMLA-065", Tier::consistency, lse_shape, kEverywhere, "softmaxLse", "FLOAT, (B,1,S,N) or (1,T,N)"},
};

}  // namespace

const Group<Case> kOtherRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
