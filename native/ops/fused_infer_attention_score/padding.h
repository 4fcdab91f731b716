// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Left padding: tokens stand at the end of their axis, in front of as many padding tokens as a device tensor says. So
// where they stand is known when the call runs, not when it is planned.
#pragma once

#include "engine/attention.h"
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

struct Padding {
    bool query = false;
    bool kv = false;
    int64_t query_tokens = 0;  // the token axes
    int64_t kv_tokens = 0;

    explicit operator bool() const { return query || kv; }
};

Padding padding_of(const Case& subject);

// `problem`, planned as if its tokens stood in front, with the tokens where the sizes put them. A sequence that does
// not fit in front of its padding counts as empty.
engine::Problem padded(engine::Problem problem, const Padding& padding, int64_t query_size, int64_t kv_size);

}  // namespace acl_attn::ops::fia
