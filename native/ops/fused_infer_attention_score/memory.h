// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a run touches, so that it can be looked at again when addresses have changed.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

// The bytes [begin, end) behind an address that belong to a tensor.
struct Extent {
    size_t index = 0;     // Input or Output
    int64_t member = -1;  // of a list
    int64_t begin = 0;
    int64_t end = 0;
    void* address = nullptr;
};
struct Extents {
    std::vector<Extent> inputs, outputs;
};

Extents extents_of(const Case& subject);

// HOST-C-03: no output lies on an input or on the other output.
Finding outputs_apart(const Extents& extents);

}  // namespace acl_attn::ops::fia
