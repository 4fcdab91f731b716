// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A quantised output, and its scale and offset.
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding type_of(const Case& c, Input input) {
    const meta::Tensor* tensor = c.extra[input];
    if (tensor == nullptr || is_one_of(tensor->dtype, {ACL_FLOAT, ACL_BF16})) return {};
    return dtype_refused(kInputNames[input], "FLOAT or BF16", tensor->dtype);
}
Finding scale_type(const Case& c) { return type_of(c, kQuantScale2); }
Finding offset_type(const Case& c) { return type_of(c, kQuantOffset2); }

Finding out_type(const Case& c) {
    if (!c.is_post_quant() || is_post_quant_type(c.out->dtype)) return {};
    return dtype_refused("attentionOut", "FLOAT16, BF16, INT8, FLOAT8_E4M3FN or HIFLOAT8", c.out->dtype);
}

Finding scale_given(const Case& c) {
    if (!c.is_post_quant() || c.kv_is_empty || c.extra[kQuantScale2] != nullptr) return {};
    return violated("quantScale2", text("a scale for attentionOut of ", meta::dtype_name(c.out->dtype)), "nothing");
}

Finding scale_used(const Case& c) {
    if (c.is_post_quant() || !c.is_strict()) return {};
    for (const Input input : {kQuantScale2, kQuantOffset2}) {
        if (c.extra[input] == nullptr) continue;
        return violated(kInputNames[input], text("nothing with attentionOut of ", meta::dtype_name(c.out->dtype)),
                        text("shape ", shape_text(*c.extra[input])), "a quantised output is INT8, E4M3FN or HIFLOAT8");
    }
    return {};
}

const meta::Tensor* used_scale(const Case& c) { return c.is_post_quant() ? c.extra[kQuantScale2] : nullptr; }

// Whether any shape with the right number of elements will do for a scale for each channel.
bool takes_any_shape(const Case& c) {
    if (c.is_host()) return !c.is_packed() && c.layout->out != geometry::Order::nbsd;
    return layout_is(c, {"BSH", "BSND", "BNSD", "BNSD_BSND"});
}

Finding wrong_scale(const Case& c) {
    return shape_refused("quantScale2",
                         text("(1), or ", c.heads, " * ", c.dim_v, " elements, one for each head and channel",
                              takes_any_shape(c) ? "" : ", in two axes"),
                         *c.extra[kQuantScale2]);
}

Finding flat_scale(const Case& c) {
    const meta::Tensor* scale = used_scale(c);
    if (scale == nullptr || scale->rank > 1 || scale->numel() == 1) return {};
    if (takes_any_shape(c) && scale->numel() == c.heads * c.dim_v) return {};
    return wrong_scale(c);
}

Finding deep_scale(const Case& c) {
    const meta::Tensor* scale = used_scale(c);
    const int64_t channels[] = {c.heads, c.dim_v};
    if (scale == nullptr || scale->rank <= 1) return {};
    if (takes_any_shape(c) ? scale->numel() == c.heads * c.dim_v : has_shape(*scale, channels, 2)) return {};
    return wrong_scale(c);
}

Finding offset_like_scale(const Case& c) {
    const meta::Tensor* scale = c.extra[kQuantScale2];
    const meta::Tensor* offset = c.extra[kQuantOffset2];
    if (!c.is_post_quant() || scale == nullptr || offset == nullptr) return {};
    const bool ranks = c.is_host() || offset->rank == scale->rank;
    if (ranks && offset->dtype == scale->dtype && offset->numel() == scale->numel()) return {};
    return violated("quantOffset2",
                    text("quantScale2's dtype ", meta::dtype_name(scale->dtype), " and shape ", shape_text(*scale)),
                    text(meta::dtype_name(offset->dtype), " and shape ", shape_text(*offset)));
}

Finding scale_type_for_query(const Case& c) {
    const meta::Tensor* scale = used_scale(c);
    if (scale == nullptr || c.query->dtype == ACL_BF16 || scale->dtype == ACL_FLOAT) return {};
    return dtype_refused("quantScale2", text("FLOAT with queries of ", meta::dtype_name(c.query->dtype)), scale->dtype);
}

Finding prefix_out_type(const Case& c) {
    if (!c.is_post_quant() || !c.is_plain_quant() || !c.has_prefix() || c.out->dtype == ACL_INT8) return {};
    return dtype_refused("attentionOut", "INT8 if a quantised output has a shared prefix", c.out->dtype);
}

Finding anti_out_type(const Case& c) {
    const aclDataType kv = c.key->front()->dtype;
    if (!c.is_post_quant() || !c.is_anti() || c.out->dtype == kv) return {};
    return dtype_refused("attentionOut", text(meta::dtype_name(kv), ", as key, if it is quantised"), c.out->dtype);
}

Finding token_scales_alone(const Case& c) {
    const int64_t key = c.call.key_antiquant_mode;
    if (!c.is_post_quant() || !c.is_anti() || c.key->front()->dtype != ACL_FLOAT8_E4M3FN) return {};
    if (key != c.call.value_antiquant_mode || !is_one_of(key, {1, 4})) return {};
    return dtype_refused("attentionOut", "FLOAT16 or BF16 with FLOAT8_E4M3FN keys that have a scale for each token",
                         c.out->dtype);
}

// Rows that see nothing would need the quantised zero, which an offset moves.
Finding every_row_sees(const Case& c) {
    if (c.call.is_largest || c.out->dtype != ACL_INT8 || c.extra[kQuantOffset2] == nullptr || c.product_q <= 1) {
        return {};
    }
    for (size_t b = 0; b < c.q_tokens.size(); ++b) {
        const int64_t rows = c.q_tokens[b].count;
        const int64_t keys = c.kv_tokens[b].count + c.prefix_len;
        if (rows == 0 || is_one_of(c.sparse_mode_number, {1, 9})) continue;
        const geometry::Band band =
            geometry::visible_band(c.sparse_mode(), c.has_window(), c.pre_tokens, c.next_tokens, rows, keys);
        const bool first_sees = band.last >= 0;
        if (first_sees && rows - 1 + band.first <= keys - 1) continue;
        return violated(first_sees ? "preTokens" : "nextTokens",
                        text("a window that shows every row of sequence ", b,
                             " a key, as the INT8 output has an offset"),
                        text(first_sees ? c.pre_tokens : c.next_tokens));
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"PQ-S-01", Tier::single, scale_type, kEverywhere, "quantScale2",
     "quantScale2 is FLOAT or BF16, whatever the output is", Known::tensors},
    {"PQ-S-02", Tier::single, offset_type, kEverywhere, "quantOffset2",
     "quantOffset2 is FLOAT or BF16, whatever the output is", Known::tensors},
    {"HOST-E-02", Tier::existence, scale_used, and_host(page_only(kProducts)), "quantScale2, quantOffset2",
     "without a quantised output, neither is given", Known::tensors},
    {"PQ-E-01", Tier::existence, scale_given, kEverywhere, "quantScale2", "a quantised output comes with quantScale2",
     Known::tensors},
    {"PQ-S-03", Tier::cross, out_type, kProducts, "attentionOut",
     "a quantised output is INT8, FLOAT8_E4M3FN or HIFLOAT8", Known::tensors, kTypeStatus},
    {"PQ-C-01", Tier::cross, flat_scale, kEverywhere, "quantScale2",
     "a quantScale2 of one axis is (1), or in plain layouts a number for each channel of each head"},
    {"PQ-C-02", Tier::cross, deep_scale, kEverywhere, "quantScale2",
     "a quantScale2 of several axes has a number for each channel of each head; outside plain layouts it is (N, D)"},
    {"PQ-X-01", Tier::cross, scale_type_for_query, kProducts, "quantScale2",
     "unless query is BF16, quantScale2 is FLOAT", Known::tensors},
    {"PQ-X-02", Tier::cross, prefix_out_type, kProducts, "attentionOut",
     "with a shared prefix, a quantised output is INT8", Known::tensors},
    {"PQ-X-03", Tier::cross, anti_out_type, kProducts, "attentionOut",
     "with keys of another type, a quantised output has that type", Known::tensors},
    {"PQ-X-04", Tier::cross, token_scales_alone, kProducts, "attentionOut",
     "with FLOAT8_E4M3FN keys in modes 1/1 or 4/4 the output is not quantised", Known::tensors},
    {"PQ-X-05", Tier::cross, every_row_sees, kOlder, "preTokens, nextTokens",
     "with an INT8 output that has an offset, no row of several lies outside the window", Known::lengths},
    {"PQ-C-03", Tier::consistency, offset_like_scale, kEverywhere, "quantOffset2",
     "quantOffset2 has the type and shape of quantScale2"},
};

}  // namespace

const Group<Case> kPostQuantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
