// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory that a run touches, kept so that it can be looked at again when addresses have changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/memory_range.h"
#include "ops/finding.h"
#include "ops/tensors.h"

namespace acl_attn::ops {

// What messages call a tensor; `member`: of a list, else -1.
std::string member_name(const char* parameter, int64_t member);

// The bytes around an address that belong to a tensor.
struct Region {
    const char* parameter = "";
    size_t index = 0;     // the operator's Input or Output
    int64_t member = -1;  // of a list
    ByteSpan span;
    size_t alignment = 1;
    void* address = nullptr;  // the tensor's, which need not be the first element's

    std::string name() const { return member_name(parameter, member); }
};

struct Regions {
    std::vector<Region> inputs, outputs;
};

// Adds a tensor's; of a call that is only held against the rules, tensors without an address are left out.
void add_region(std::vector<Region>& to, const char* parameter, size_t index, const meta::Tensor& tensor,
                bool is_sketch, int64_t member = -1);

// The same for those who watch accesses.
engine::MemoryRanges ranges_of(const Regions& regions);

// What is found is refused with `code`: operators have one of their own for it.
Finding check_addresses(const Regions& regions, aclnnStatus code);  // every tensor has one that its elements can have
Finding check_apart(const Regions& regions, aclnnStatus code);      // no output lies on another tensor
// Both, of addresses that have come since the rules looked; named as the operator's rules are.
Finding check_retargeted(const Regions& regions, aclnnStatus code, const char* addressed, const char* apart);
// A run writes to its workspace while it reads its inputs and writes its outputs.
Finding check_workspace(const Regions& regions, const void* workspace, uint64_t bytes, aclnnStatus code);

}  // namespace acl_attn::ops
