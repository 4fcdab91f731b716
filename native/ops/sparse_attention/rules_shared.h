// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What both operators check in the same way: predicates that their tables put an id and a scope to, and whole groups of
// rules that the mathematics and the safety of memory need.
#pragma once

#include "ops/rule.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

// Front layer.
Finding q_given(const Case& c);
Finding out_given(const Case& c);
Finding out_pointers_given(const Case& c);
Finding handles_live(const Case& c);
Finding handles_live(const MetadataCase& c);

// Single parameters.
Finding layout_q_known(const Case& c);
Finding scale_finite(const Case& c);       // as a FLOAT, which is what computes
Finding q_rank(const Case& c);
Finding tables_typed(const Case& c);      // INT32, two axes, neither empty
Finding sinks_typed(const Case& c);
Finding metadata_typed(const Case& c);
Finding cmp_indices_typed(const Case& c);

// Existence.
Finding ori_given(const Case& c);
Finding sinks_given(const Case& c);
Finding metadata_given(const Case& c);
Finding cu_seqlens_q_given(const Case& c);
Finding ori_used_given(const Case& c);
Finding ori_table_given(const Case& c);
Finding cmp_table_given(const Case& c);
Finding indices_without_cmp(const Case& c);

// Between parameters.
Finding q_dim(const Case& c);
Finding heads_in_range(const Case& c);     // 1 to 128
Finding one_kv_head(const Case& c);
Finding cu_seqlens_q_length(const Case& c);
Finding table_rows(const Case& c);
Finding sinks_length(const Case& c);
Finding out_like_q(const Case& c);
// One list (`has_heads`), or one number, for each row of q.
Finding row_table_shape(const Case& c, Input input, bool has_heads);
Finding cmp_indices_shape(const Case& c);
Finding lse_shape(const Case& c);

// 1 to 128 heads, sequences that can be counted, strides and addresses within the call's own memory. Ids of the sparse
// operators' own rules count from 51 on, so that no other operator has them.
extern const Group<Case> kHostRules;

}  // namespace acl_attn::ops::sparse
