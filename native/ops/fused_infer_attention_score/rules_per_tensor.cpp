// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantised queries: what is common to all schemes, and the one whose scales serve whole tensors.
#include <iterator>

#include "ops/fused_infer_attention_score/full_quant_rules.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Quantisation kOwn = Quantisation::per_tensor;
bool is_own(const Case& c) { return is_scheme(c, kOwn); }

Finding combination(const Case& c) {
    if (!c.is_full_quant() || c.kv_is_empty) return {};
    const aclDataType out = c.out->dtype;
    if (c.query->dtype == ACL_INT8) {
        const bool takes_fp16 = !c.is_newest() || c.is_older();  // the newest Ascend950 software has dropped it
        if (out == ACL_BF16 || (takes_fp16 && out == ACL_FLOAT16)) return {};
        return dtype_refused("attentionOut",
                             takes_fp16 ? "FLOAT16 or BF16 with INT8 queries" : "BF16 with INT8 queries", out);
    }
    if (!is_float8(c.query->dtype)) {
        return dtype_refused("query", "INT8, FLOAT8_E4M3FN or HIFLOAT8 as a quantised query", c.query->dtype);
    }
    return is_16bit(out) ? Finding{} : dtype_refused("attentionOut", "FLOAT16 or BF16 with quantised queries", out);
}

Finding value_type(const Case& c) {
    if (!c.is_full_quant()) return {};
    for (const TensorRef& value : *c.value) {
        const aclDataType key = c.key->front()->dtype;
        if (value->dtype != key) return dtype_refused("value", text(meta::dtype_name(key), ", as key"), value->dtype);
    }
    return {};
}

Finding word_types(const Case& c) {
    if (!is_own(c)) return {};
    for (const Input input : {kDeqScale1, kDeqScale2}) {
        const meta::Tensor* scale = c.extra[input];
        if (scale == nullptr || is_one_of(scale->dtype, {ACL_UINT64, ACL_FLOAT})) continue;
        return dtype_refused(kInputNames[input], "FLOAT or UINT64", scale->dtype);
    }
    return {};
}
Finding quant_type(const Case& c) { return is_own(c) ? scales_have_type(c, {kQuantScale1}, ACL_FLOAT) : Finding{}; }

Finding modes_zero(const Case& c) {
    if (!is_own(c)) return {};
    for (const auto& [name, mode] : {std::pair<const char*, int64_t>{"queryQuantMode", c.call.query_quant_mode},
                                     {"keyAntiquantMode", c.call.key_antiquant_mode},
                                     {"valueAntiquantMode", c.call.value_antiquant_mode}}) {
        if (mode == 0) continue;
        return violated(name, "0, or the modes of a scheme together: 3, 0, 0 with ropes, 3, 3, 2, or 6, 6, 8",
                        text(mode));
    }
    return {};
}

Finding single_numbers(const Case& c) {
    if (!is_own(c)) return {};
    constexpr int64_t one = 1;
    for (const Input input : {kDeqScale1, kQuantScale1, kDeqScale2}) {
        // Products look at empty ones too.
        const meta::Tensor* scale = c.is_host() ? c.extra[input] : c.call.tensors[input].tensor.get();
        if (scale != nullptr && !has_shape(*scale, &one, 1)) return shape_refused(kInputNames[input], "(1)", *scale);
    }
    return {};
}

constexpr Input kOwnScales[] = {kDeqScale1, kQuantScale1, kDeqScale2};

Finding own_scales_given(const Case& c) {
    if (!is_own(c)) return {};
    for (const Input input : kOwnScales) {
        if (c.call.tensors[input].tensor == nullptr) return scales_given(c, {input});
    }
    return {};
}
Finding own_scales_not_empty(const Case& c) {
    return is_own(c) ? scales_given(c, {kDeqScale1, kQuantScale1, kDeqScale2}) : Finding{};
}
Finding no_dynamic_scales(const Case& c) {
    return is_own(c) ? none_of(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}) : Finding{};
}
Finding no_offsets(const Case& c) {
    return is_own(c) ? none_of(c, {kKeyAntiquantOffset, kValueAntiquantOffset}) : Finding{};
}
Finding no_merged(const Case& c) { return is_own(c) ? none_of(c, {kAntiquantScale, kAntiquantOffset}) : Finding{}; }
Finding no_rope_scale(const Case& c) { return is_own(c) ? none_of(c, {kKeyRopeAntiquantScale}) : Finding{}; }

Finding int8(const Case& c) { return is_own(c) ? all_types(c, {ACL_INT8}, "INT8") : Finding{}; }
Finding out_16bit(const Case& c) {
    return is_own(c) ? out_has_type(c, {ACL_FLOAT16, ACL_BF16}, "FLOAT16 or BF16") : Finding{};
}
Finding several_queries(const Case& c) {
    if (!is_own(c) || c.product_q != 1) return {};
    return violated("query", text("several tokens a sequence with ", scheme_name(kOwn)), "1");
}
Finding query_heads(const Case& c) { return is_own(c) ? heads_in_range(c, 256, INT64_MAX, INT64_MAX) : Finding{}; }
Finding kv_heads(const Case& c) { return is_own(c) ? heads_in_range(c, INT64_MAX, 256, INT64_MAX) : Finding{}; }
Finding group(const Case& c) { return is_own(c) ? heads_in_range(c, INT64_MAX, INT64_MAX, 64) : Finding{}; }
Finding dim_in_range(const Case& c) {
    if (!is_own(c) || (c.dim >= 1 && c.dim <= 512)) return {};
    return violated("query", text("a head dim of 1 to 512 with ", scheme_name(kOwn)), text(c.dim));
}
Finding equal_dims(const Case& c) {
    if (!is_own(c) || c.dim == c.dim_v) return {};
    return violated("value", text("query's head dim ", c.dim, " with ", scheme_name(kOwn)), text(c.dim_v));
}
Finding layout(const Case& c) {
    if (!is_own(c) || layout_is(c, {"BSH", "BNSD", "BSND", "BNSD_BSND"})) return {};
    return layout_refused(c, "BSH, BNSD, BSND or BNSD_BSND", scheme_name(kOwn));
}
// The newest software minds caches of 5 axes only; INT8 queries without ropes are refused by PA-X-08 anyway.
Finding not_paged(const Case& c) {
    if (!is_own(c) || !c.is_paged()) return {};
    if (c.is_newest() && c.cache != geometry::CacheOrder::nz) return {};
    return excluded(c, kBlockTable, scheme_name(kOwn));
}
Finding no_slopes(const Case& c) {
    if (!is_own(c) || !c.has_slopes()) return {};
    return violated("pseType", text("0 with ", scheme_name(kOwn)), text(c.call.pse_type));
}
Finding no_rope(const Case& c) {
    if (!is_own(c)) return {};
    if (Finding f = none_of(c, {kQueryRope})) return f;
    if (c.is_host() || c.rope != Rope::combined) return {};
    return violated("value", text("query's head dim with ", scheme_name(kOwn)), text(c.dim_v));
}
Finding no_post_quant(const Case& c) {
    const bool applies = c.is_host() ? c.is_full_quant() && !c.kv_is_empty : is_own(c);
    return applies ? out_has_type(c, {ACL_FLOAT16, ACL_BF16}, "FLOAT16 or BF16") : Finding{};
}
Finding one_tensor(const Case& c) {
    return c.is_full_quant() && c.is_list() ? no_list(c, "quantised queries") : Finding{};
}

constexpr const char* kMain = "query, key, value";
constexpr const char* kThree = "deqScale1, quantScale1, deqScale2";

constexpr Rule<Case> kRules[] = {
    {"DQF-S-04", Tier::single, word_types, kEverywhere, "deqScale1, deqScale2",
     "where scales serve whole tensors, these two are UINT64 or FLOAT", Known::tensors},
    {"DQF-S-05", Tier::single, quant_type, kEverywhere, "quantScale1",
     "where scales serve whole tensors, quantScale1 is FLOAT", Known::tensors},
    {"DQF-S-07", Tier::single, modes_zero, kEverywhere, "queryQuantMode, keyAntiquantMode, valueAntiquantMode",
     "quantised queries have the modes of a scheme, or 0 where scales serve whole tensors", Known::tensors},
    {"DQF-S-06", Tier::single, single_numbers, kEverywhere, kThree, "scales that serve whole tensors are one number",
     Known::tensors},
    {"DQF-E-06", Tier::existence, own_scales_given, kEverywhere, kThree,
     "the scales that serve whole tensors are given", Known::tensors},
    {"DQF-E-07", Tier::existence, own_scales_not_empty, kEverywhere, kThree, "none of them is empty", Known::tensors},
    {"DQF-E-08", Tier::existence, no_dynamic_scales, kEverywhere,
     "dequantScaleQuery, keyAntiquantScale, valueAntiquantScale",
     "where scales serve whole tensors, there are no others", Known::tensors},
    {"DQF-E-09", Tier::existence, no_offsets, kEverywhere, "keyAntiquantOffset, valueAntiquantOffset", "nor offsets",
     Known::tensors},
    {"DQF-E-10", Tier::existence, no_merged, kEverywhere, "antiquantScale, antiquantOffset",
     "nor the ones for key and value together", Known::tensors},
    {"DQF-E-11", Tier::existence, no_rope_scale, kEverywhere, "keyRopeAntiquantScale", "nor one for ropes",
     Known::tensors},
    {"DQF-X-01", Tier::cross, combination, kProducts, "query, key, attentionOut",
     "INT8 queries have FLOAT16 or BF16 outputs (newest Ascend950 software: BF16), 8-bit floats FLOAT16 or BF16",
     Known::tensors, kTypeStatus},
    {"DQF-X-02", Tier::cross, value_type, kProducts, "value", "under quantised queries, value has key's type",
     Known::tensors, kTypeStatus},
    {"DQF-X-21", Tier::cross, int8, kEverywhere, kMain,
     "where scales serve whole tensors, query, key and value are INT8", Known::tensors},
    {"DQF-X-22", Tier::cross, out_16bit, page_only(kProducts), "attentionOut",
     "where scales serve whole tensors, the output is FLOAT16 or BF16", Known::tensors},
    {"DQF-X-29", Tier::cross, layout, kProducts, "inputLayout",
     "where scales serve whole tensors, the layout is BSH, BNSD, BSND or BNSD_BSND"},
    {"DQF-X-23", Tier::cross, several_queries, kProducts, "query",
     "where scales serve whole tensors, there are several query tokens"},
    {"DQF-X-24", Tier::cross, query_heads, kProducts, "numHeads", "and at most 256 query heads"},
    {"DQF-X-25", Tier::cross, kv_heads, kProducts, "numKeyValueHeads", "and at most 256 key/value heads"},
    {"DQF-X-26", Tier::cross, group, kProducts, "numHeads, numKeyValueHeads",
     "and at most 64 query heads to one of them"},
    {"DQF-X-27", Tier::cross, dim_in_range, kProducts, "query", "and a head dim of at most 512"},
    {"DQF-X-28", Tier::cross, equal_dims, kProducts, "value", "and value has query's head dim"},
    {"DQF-X-30", Tier::cross, not_paged, kProducts, "blockTable",
     "where scales serve whole tensors, keys are not paged"},
    {"DQF-X-31", Tier::cross, no_slopes, and_host(page_only(kProducts)), "pseType",
     "where scales serve whole tensors, there are no slopes"},
    {"DQF-X-32", Tier::cross, no_rope, kEverywhere, "queryRope, keyRope",
     "where scales serve whole tensors, there are no ropes, also not as part of query"},
    {"DQF-X-33", Tier::cross, no_post_quant, kEverywhere, "attentionOut",
     "where scales serve whole tensors, the output is not quantised", Known::tensors},
    {"HOST-X-03", Tier::cross, one_tensor, kHostOnly, "key, value", "quantised queries have no tensor list",
     Known::tensors},
};

}  // namespace

const Group<Case> kPerTensorRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
