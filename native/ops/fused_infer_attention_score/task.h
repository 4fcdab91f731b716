// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A call on its way to a stream: one schedule, one set of addresses.
#pragma once

#include <memory>
#include <vector>

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/call.h"
#include "ops/compute.h"
#include "ops/fused_infer_attention_score/describe.h"
#include "ops/fused_infer_attention_score/padding.h"
#include "ops/fused_infer_attention_score/tree.h"
#include "ops/finding.h"
#include "runtime/stream.h"

namespace acl_attn::ops::fia {

// What phase one has found out, never changed afterwards.
struct Planned {
    std::shared_ptr<const engine::Attention> attention;  // null: nothing to do
    compute::Chip chip;
    Facts facts;
    Padding padding;
    TreeMask tree;
};

// Addresses of first elements. Each task has its own copy.
struct Addresses {
    const void* inputs[kInputCount] = {};
    std::vector<const void*> key, value;
    void* outputs[kOutputCount] = {};
    engine::MemoryRanges ranges;  // of all tensors, where the target watches accesses; else empty
};

std::unique_ptr<runtime::Task> make_task(std::shared_ptr<const Planned> planned, const Addresses& addresses,
                                         void* workspace);

}  // namespace acl_attn::ops::fia
