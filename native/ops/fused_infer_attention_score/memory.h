// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a run touches, so that it can be looked at again when addresses have changed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/memory_range.h"
#include "ops/fused_infer_attention_score/case.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {

// The bytes around an address that belong to a tensor.
struct Extent {
    size_t index = 0;     // Input or Output
    int64_t member = -1;  // of a list
    ByteSpan span;
    size_t alignment = 1;
    void* address = nullptr;  // the tensor's, which need not be the first element's
};
struct Extents {
    std::vector<Extent> inputs, outputs;
};

// Of a sketch, tensors without an address are left out.
Extents extents_of(const Case& subject);

// The same for those who watch accesses.
engine::MemoryRanges ranges_of(const Extents& extents);

// HOST-C-02 and 03: every tensor has an address that its elements can have, and no output lies on another tensor.
Finding check_memory(const Extents& extents);

// A run writes to its workspace while it reads its inputs and writes its outputs.
Finding check_workspace(const Extents& extents, const void* workspace, uint64_t bytes);

}  // namespace acl_attn::ops::fia
