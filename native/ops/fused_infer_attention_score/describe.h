// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

// What a description needs of a call that may be gone when somebody asks for it: sentences are made on request only.
struct Facts {
    engine::Problem problem;
    const char* layout = "";
    Storage storage = Storage::dense;
    size_t members = 1;
    int cache_rank = 0;
    geometry::SparseMode sparse_mode = geometry::SparseMode::window;
    bool is_padded = false;
    bool is_tree = false;
};

Facts facts_of(const Case& subject, const engine::Problem& problem);

// Several lines for people: what the call means, sequence by sequence.
std::string describe(const Facts& facts);

}  // namespace acl_attn::ops::fia
