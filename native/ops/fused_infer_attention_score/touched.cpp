// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {

std::string Touched::input_name() const { return member_name(kInputNames[index], member); }

std::vector<Touched> touched_inputs(const Case& c) {
    const bool paged = c.storage == Storage::paged;
    std::vector<Touched> touched{{kQuery, -1, c.query, false}};
    const auto add_members = [&](Input input, const std::vector<TensorRef>& members) {
        for (size_t i = 0; i < members.size(); ++i) {
            touched.push_back({input, static_cast<int64_t>(i), members[i].get(), paged});  // PA-C-04
        }
    };
    add_members(kKey, *c.key);
    if (!c.value_is_key()) add_members(kValue, *c.value);
    if (c.reads_mask()) touched.push_back({kAttenMask, -1, c.mask, false});
    if (paged) touched.push_back({kBlockTable, -1, c.block_table, false});
    for (size_t i = 0; i < kInputCount; ++i) {
        if (c.extra[i] == nullptr || (i == kQueryPaddingSize && !c.pads_query())) continue;
        const bool is_scale = i == kKeyAntiquantScale || i == kValueAntiquantScale;
        touched.push_back({i, -1, c.extra[i], paged && (i == kKeyRope || (is_scale && c.is_full_quant()))});
    }
    return touched;
}

std::vector<Touched> touched_outputs(const Case& c) {
    std::vector<Touched> touched{{kAttentionOut, -1, c.out, false}};
    if (c.lse != nullptr) touched.push_back({kSoftmaxLse, -1, c.lse, false});
    return touched;
}

}  // namespace acl_attn::ops::fia
