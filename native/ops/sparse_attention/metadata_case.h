// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One call of a metadata operator, understood. Making one cannot fail; see case.h.
#pragma once

#include "ops/sparse_attention/call.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/device.h"

namespace acl_attn::ops::sparse {

struct MetadataCase {
    MetadataCase(const MetadataCall& call, const PlanningDevice& device);

    const MetadataCall& call;
    PlanningDevice device;
    const meta::Tensor* in[kInputCount] = {};  // optional inputs that are there
    const meta::Tensor* metadata = nullptr;
    Layout layout_q = Layout::unknown;
    Layout layout_kv = Layout::unknown;
    int64_t batch = -1;

    bool is_quantised() const { return call.op == Operator::kv_quant_sparse_attn_sharedkv; }
    bool is_packed_q() const { return layout_q == Layout::tnd; }
    bool is_paged() const { return layout_kv == Layout::paged; }
    const char* name(Input input) const { return input_name(call.op, input); }

    // How far the call makes sense.
    Known known() const;

    // Sequences that a pair of length tensors has; -1: neither is there.
    int64_t sequences(Input used, Input totals) const;
};

}  // namespace acl_attn::ops::sparse
