// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The schemes of quantised queries that kernels have (engine/full_quant.h). The launch chooses by them, kernels are
// instantiated for them. Queries, keys and weights have one 8-bit type; a step's sums join the row's in fp32.
//
//   per_tensor  scores are rounded to fp16; weights are relative to the largest score so far
//   mla         rope channels are bf16; weights are relative to the largest score of their own step
//   gqa         keys have scales of their own; weights are relative to the largest score so far
#pragma once

#include "ascendc/flash_attention/tiles.h"

namespace acl_attn::ascendc {

enum class Scheme : int32_t { none, per_tensor, mla, gqa };

constexpr int32_t kMaxQuantisedRope = 64;  // channels: what a slot of L0 holds in bf16

// The integer products of queries and keys, and the products of ropes, have a tile each.
constexpr bool has_rope_scores(Scheme scheme, bool is_integer) { return scheme == Scheme::mla && is_integer; }

// Two slots of them behind core_bytes().
constexpr uint32_t rope_score_bytes(TileSize size) {
    return 2u * static_cast<uint32_t>(rows_of(size) * kKeysOfStep) * 4u;
}

}  // namespace acl_attn::ascendc
