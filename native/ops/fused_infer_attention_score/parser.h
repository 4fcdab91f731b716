// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules without which a call cannot be understood: interpret() asks them how far it may go, and the catalogue tells
// what they find. Each holds where its turn has not come, because one before it is broken.
#pragma once

#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

Finding attributes_fit(const Case& c);
Finding lists_have_equal_length(const Case& c);
Finding sizes_are_representable(const Case& c);
Finding layout_known(const Case& c);
Finding cache_rank_known(const Case& c);
Finding heads_positive(const Case& c);
Finding kv_heads_positive(const Case& c);
Finding query_rank_fits(const Case& c);
Finding query_heads_divide(const Case& c);
Finding kv_ranks_fit(const Case& c);
Finding batch_known(const Case& c);
Finding heads_divide(const Case& c);
Finding block_size_positive(const Case& c);
Finding table_rank_fits(const Case& c);
Finding rope_ranks_fit(const Case& c);

}  // namespace acl_attn::ops::fia
