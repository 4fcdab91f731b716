// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A call on its way to a stream.
#pragma once

#include <memory>

#include "ops/regions.h"
#include "ops/sparse_attention/plan.h"
#include "runtime/stream.h"

namespace acl_attn::ops::sparse {

// Addresses of first elements. Each task has its own copy.
struct Addresses {
    const void* inputs[kInputCount] = {};
    void* outputs[kOutputCount] = {};
    engine::MemoryRanges ranges;  // of all tensors, where the target watches accesses; else empty
};

std::unique_ptr<runtime::Task> make_task(std::shared_ptr<const Planned> planned, const Addresses& addresses,
                                         void* workspace);

}  // namespace acl_attn::ops::sparse
