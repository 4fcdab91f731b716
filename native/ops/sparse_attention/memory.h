// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a run touches, so that it can be looked at again when addresses have changed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/memory_range.h"
#include "ops/finding.h"
#include "ops/tensors.h"

namespace acl_attn::ops::sparse {

// The bytes around an address that belong to a tensor.
struct Region {
    const char* name = "";
    size_t index = 0;         // Input or Output
    ByteSpan span;
    size_t alignment = 1;
    void* address = nullptr;  // the tensor's, which need not be the first element's
};

struct Regions {
    std::vector<Region> inputs, outputs;
};

// The same for those who watch accesses.
engine::MemoryRanges ranges_of(const Regions& regions);

// Adds a tensor's; of a call that is only held against the rules, tensors without an address are left out.
void add_region(std::vector<Region>& to, const char* name, size_t index, const meta::Tensor& tensor, bool is_sketch);

Finding check_addresses(const Regions& regions);     // every tensor has one that its elements can have
Finding check_apart(const Regions& regions);         // no output lies on another tensor
Finding check_workspace(const Regions& regions, const void* workspace, uint64_t bytes);

}  // namespace acl_attn::ops::sparse
