// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Left padding: tokens that stand at the end of their axis.
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding one_number(const Case& c, Input input) {
    constexpr int64_t one = 1;
    const meta::Tensor* size = c.extra[input];
    if (size == nullptr || (!c.is_host() && !c.is_plain_quant())) return {};
    if (size->dtype == ACL_INT64 && has_shape(*size, &one, 1)) return {};
    return violated(kInputNames[input], "an INT64 tensor of shape (1)",
                    text(meta::dtype_name(size->dtype), " of shape ", shape_text(*size)));
}
Finding query_size(const Case& c) { return one_number(c, kQueryPaddingSize); }
Finding kv_size(const Case& c) { return one_number(c, kKvPaddingSize); }

// The padding that counts under the case's profile; null: none.
const Input* padding(const Case& c) {
    static constexpr Input kSizes[] = {kQueryPaddingSize, kKvPaddingSize};
    const bool query = c.is_host() ? c.extra[kQueryPaddingSize] != nullptr : c.product_pads_query();
    const bool kv = c.is_host() ? c.extra[kKvPaddingSize] != nullptr : c.product_pads_kv();
    return query ? &kSizes[0] : kv ? &kSizes[1] : nullptr;
}

Finding excluded_with(const Case& c, bool applies, const char* with) {
    const Input* size = applies ? padding(c) : nullptr;
    return size == nullptr ? Finding{} : excluded(c, *size, with);
}

Finding no_slopes(const Case& c) {
    if (!c.has_slopes() || c.kv_is_empty || padding(c) == nullptr) return {};
    return violated("pseType", "0 with left padding", text(c.call.pse_type));
}

Finding layout_takes_padding(const Case& c) {
    const bool is_refused = c.is_host() ? c.is_packed()
                                        : layout_is(c, {"BSH_BNSD", "BSND_BNSD", "TND", "NTD", "NTD_TND", "TND_NTD"});
    return excluded_with(c, is_refused, c.layout->name);
}

Finding query_lengths_given(const Case& c) {
    const bool pads = c.is_host() ? c.pads_query() : c.product_pads_query();
    if (c.call.is_largest || !pads || c.q_lengths != nullptr) return {};
    return violated("actualSeqLengths", "the sequences' tokens, as queryPaddingSize is given", "nothing");
}

Finding kv_lengths_given(const Case& c) {
    const bool pads = c.is_host() ? c.pads_kv() : c.product_pads_kv();
    if (c.call.is_largest || !pads || c.kv_lengths != nullptr) return {};
    return violated("actualSeqLengthsKv", "the sequences' keys, as kvPaddingSize is given", "nothing");
}

Finding no_int8_prefill(const Case& c) {
    const bool applies = c.is_anti() && c.product_q > 1 && c.is_int8_kv() &&
                         is_one_of(c.call.key_antiquant_mode, {0, 1});
    return excluded_with(c, applies, "INT8 keys in mode 0 or 1 and several query tokens");
}

Finding no_different_dims(const Case& c) {
    return excluded_with(c, c.is_gqa() && c.is_dim_different(), "head dims that differ between query and value");
}

Finding no_list(const Case& c) { return excluded_with(c, c.is_list(), "tensor lists"); }

constexpr const char* kSizes = "queryPaddingSize, kvPaddingSize";

constexpr Rule<Case> kRules[] = {
    {"LP-S-01", Tier::single, query_size, kEverywhere, "queryPaddingSize",
     "queryPaddingSize is an INT64 tensor of one number", Known::tensors},
    {"LP-S-02", Tier::single, kv_size, kEverywhere, "kvPaddingSize", "kvPaddingSize is an INT64 tensor of one number",
     Known::tensors},
    {"LP-X-02", Tier::cross, no_slopes, and_host(page_only(kProducts)), "pseType", "left padding has no slopes"},
    {"LP-X-03", Tier::cross, layout_takes_padding, kEverywhere, kSizes,
     "layouts BSH_BNSD, BSND_BNSD, TND, NTD, NTD_TND and TND_NTD have no left padding; profile host takes the first "
     "two"},
    {"LP-X-04", Tier::cross, query_lengths_given, kEverywhere, "actualSeqLengths",
     "queryPaddingSize comes with actualSeqLengths"},
    {"LP-X-05", Tier::cross, kv_lengths_given, kEverywhere, "actualSeqLengthsKv",
     "kvPaddingSize comes with actualSeqLengthsKv"},
    {"LP-X-06", Tier::cross, no_int8_prefill, kProducts, kSizes,
     "several query tokens over INT8 keys in mode 0 or 1 have no left padding"},
    {"LP-X-07", Tier::cross, no_different_dims, kProducts, kSizes,
     "where value's head dim differs, there is no left padding"},
    {"HOST-X-02", Tier::cross, no_list, kHostOnly, kSizes, "tensor lists have no left padding: their axes differ"},
};

}  // namespace

const Group<Case> kPaddingRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
