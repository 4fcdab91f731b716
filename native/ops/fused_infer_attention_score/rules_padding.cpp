// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Input kPaddings[] = {kQueryPaddingSize, kKvPaddingSize};

Finding one_number(const Case& c) {
    constexpr int64_t one = 1;
    for (const Input input : kPaddings) {
        const meta::Tensor* size = c.extra[input];
        if (size == nullptr || (size->dtype == ACL_INT64 && has_shape(*size, &one, 1))) continue;
        return violated(kInputNames[input], "an INT64 tensor of shape (1)",
                        text(meta::dtype_name(size->dtype), " of shape ", shape_text(*size)));
    }
    return {};
}

Finding padding_has_a_place(const Case& c) {
    for (const Input input : kPaddings) {
        if (c.extra[input] == nullptr) continue;
        if (c.storage == Storage::paged) return violated(kInputNames[input], "nothing with a blockTable", "a tensor");
        if (c.storage == Storage::list) return violated(kInputNames[input], "nothing with tensor lists", "a tensor");
        if (c.is_packed()) {
            return violated(kInputNames[input], text("nothing with layout ", c.layout->name), "a tensor");
        }
        if (c.is_full_quant() && c.quantisation != Quantisation::per_tensor) {
            return violated(kInputNames[input], "nothing with this quantisation", "a tensor");
        }
    }
    return {};
}

Finding lengths_given(const Case& c) {
    if (c.call.is_largest) return {};
    if (c.pads_query() && c.q_lengths == nullptr) {
        return violated("actualSeqLengths", "the sequences' tokens, as queryPaddingSize is given", "nothing");
    }
    if (c.pads_kv() && c.kv_lengths == nullptr) {
        return violated("actualSeqLengthsKv", "the sequences' keys, as kvPaddingSize is given", "nothing");
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"LP-S-01", Tier::single, one_number},           // with LP-S-02
    {"LP-X-01", Tier::single, padding_has_a_place},  // with LP-X-03 and PA-E-03
    {"LP-X-04", Tier::existence, lengths_given},     // with LP-X-05
};

}  // namespace

const Group<Case> kPaddingRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
