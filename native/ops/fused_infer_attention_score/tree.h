// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// sparseMode 9: the last tokens of a sequence form a tree (guesses of several continuations). Query row i sees all keys
// before the tree, and of the tree's what a mask for them alone leaves: (B, Sq, Sq), or packed one behind another.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

struct TreeMask {
    bool present = false;
    int64_t sequence_stride = 0;  // dense: of one sequence's mask
    int64_t row_stride = 0;       // packed: 0, a sequence's own number of rows
};

TreeMask tree_of(const Case& subject);

// Lays out the engine's mask, which has all keys as columns.
void place_tree(const Case& subject, engine::Problem& problem);

// The engine's mask out of the caller's.
std::vector<uint8_t> expand(const TreeMask& tree, const engine::Problem& problem, const uint8_t* mask);

}  // namespace acl_attn::ops::fia
