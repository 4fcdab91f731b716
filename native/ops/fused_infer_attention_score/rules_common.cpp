// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The common parameters: what single ones may be, and what a class of calls leaves of types and layouts. Shapes are in
// rules_common_shapes.cpp, limits in rules_common_limits.cpp.
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding plain_types(const Case& c) {
    if (!c.is_plain_quant()) return {};
    for (const TensorRef& value : *c.value) {
        if (!is_16bit(value->dtype)) return dtype_refused("value", "FLOAT16 or BF16, as query and key", value->dtype);
    }
    if (is_16bit(c.out->dtype) || is_post_quant_type(c.out->dtype)) return {};
    return dtype_refused("attentionOut", "FLOAT16, BF16, INT8, FLOAT8_E4M3FN or HIFLOAT8", c.out->dtype);
}

bool is_plain_format(aclFormat format) {
    return format == ACL_FORMAT_ND || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NHWC ||
           format == ACL_FORMAT_NCDHW;
}

Finding wrong_format(const std::string& name, const meta::Tensor& tensor) {
    return violated(name, "format ND", text("format number ", static_cast<int>(tensor.format)),
                    "a paged cache in the NZ layout is a 5-D tensor of format ND");
}

Finding main_formats(const Case& c) {
    if (!is_plain_format(c.query->format)) return wrong_format("query", *c.query);
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const meta::Tensor& tensor = *arg.list->tensors[i];
            if (!is_plain_format(tensor.format)) return wrong_format(text(name, "[", i, "]"), tensor);
        }
    }
    return is_plain_format(c.out->format) ? Finding{} : wrong_format("attentionOut", *c.out);
}

Finding other_formats(const Case& c) {
    if (c.block_table != nullptr && !is_plain_format(c.block_table->format)) {
        return wrong_format("blockTable", *c.block_table);
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (c.extra[i] != nullptr && !is_plain_format(c.extra[i]->format)) {
            return wrong_format(kInputNames[i], *c.extra[i]);
        }
    }
    return c.lse == nullptr || is_plain_format(c.lse->format) ? Finding{} : wrong_format("softmaxLse", *c.lse);
}

Finding mla_heads(const Case& c) {
    if (!c.is_decode_mla()) return {};
    if (may_have_any_heads(c) ? c.heads <= 128 : is_power_of_two_to_128(c.heads)) return {};
    return violated("numHeads",
                    may_have_any_heads(c) ? "1 to 128 in decode MLA" : "1, 2, 4, 8, 16, 32, 64 or 128 in decode MLA",
                    text(c.heads), "pad the query heads to the next of these numbers");
}

Finding mla_kv_heads(const Case& c) {
    if (!c.is_decode_mla() || c.kv_heads == 1) return {};
    return violated("numKeyValueHeads", "1 in decode MLA", text(c.kv_heads));
}

Finding gqa_layout(const Case& c) {
    if (!c.is_gqa() || layout_is(c, {"BSH", "BSND", "BNSD", "TND", "NTD", "BSH_BNSD", "BSND_BNSD", "BNSD_BSND",
                                     "NTD_TND"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, BNSD, TND, NTD, BSH_BNSD, BSND_BNSD, BNSD_BSND or NTD_TND",
                          "queries and keys without ropes");
}

Finding decode_mla_layout(const Case& c) {
    if (!c.is_decode_mla() || layout_is(c, {"BSH", "BSND", "BNSD", "TND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD",
                                            "TND_NTD"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, BNSD, TND, BSH_NBSD, BSND_NBSD, BNSD_NBSD or TND_NTD", "decode MLA");
}

Finding prefill_mla_layout(const Case& c) {
    if (c.is_gqa() || c.is_decode_mla() || layout_is(c, {"BSH", "BSND", "BNSD", "TND", "NTD", "BSH_BNSD", "BSND_BNSD",
                                                         "BNSD_BSND", "NTD_TND"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, BNSD, TND, NTD, BSH_BNSD, BSND_BNSD, BNSD_BSND or NTD_TND", "prefill MLA");
}

Finding older_value_dim(const Case& c) {
    if (!c.is_gqa()) return {};
    const char* wanted = nullptr;
    const bool is_tile = is_one_of(c.dim_v, {64, 128});
    if (layout_is(c, {"BSH", "BSND", "BNSD", "BNSD_BSND"})) {
        if (c.product_q > 1 && c.dim_v % 16 != 0) wanted = "a head dim that 16 divides, with several query tokens";
        // The page wants more of a single token than recorded behaviour of the newest software bears out.
        if (!c.is_newest() && c.product_q == 1 && layout_is(c, {"BNSD_BSND"}) && !is_tile) {
            wanted = "a head dim of 64 or 128 with layout BNSD_BSND and one query token";
        }
    } else if (layout_is(c, {"TND"})) {
        if (!is_tile && c.dim_v != 192) wanted = "a head dim of 64, 128 or 192 with layout TND";
    } else if (!is_tile) {
        wanted = "a head dim of 64 or 128 with this layout";
    }
    return wanted == nullptr ? Finding{} : violated("value", wanted, text(c.dim_v));
}

Finding older_combined_dims(const Case& c) {
    if (c.rope != Rope::combined || (c.dim == 192 && c.dim_v == 128)) return {};
    return violated("value", "head dims of 192 for query and key and 128 for value, where value's is the smaller",
                    text(c.dim, " and ", c.dim_v));
}

Finding inner_precise_known(const Case& c) {
    const int64_t limit = !c.is_host() && c.is_newest() ? 4 : 3;
    if (c.call.inner_precise >= 0 && c.call.inner_precise <= limit) return {};
    return violated("innerPrecise", "0, 1, 2 or 3", text(c.call.inner_precise));
}

// COM-S-17 lets a scale be any number: these are none, and what they would make of the output says nothing of where
// they came from.
Finding scale_is_number(const Case& c) {
    if (!c.is_strict() || std::isfinite(static_cast<float>(c.call.scale_value))) return {};
    char got[32];
    std::snprintf(got, sizeof got, "%g", c.call.scale_value);
    return violated("scaleValue", "a finite 32-bit float", got, "1 / sqrt(head dim) is usual");
}

// With one it has to be positive: PA-S-04.
Finding no_negative_block_size(const Case& c) {
    if (!c.is_strict() || c.is_paged() || c.call.block_size >= 0) return {};
    return violated("blockSize", "0 without a blockTable", text(c.call.block_size));
}

Finding packed_without_pse(const Case& c) {
    if (!c.is_plain_quant() || !c.is_packed() || c.extra[kPseShift] == nullptr) return {};
    return excluded(c, kPseShift, "packed queries");
}

Finding packed_without_list(const Case& c) {
    if (!c.is_plain_quant() || !c.is_packed() || !c.is_list()) return {};
    return no_list(c, "packed queries");
}

Finding transposed_out_alone(const Case& c) {
    if (!c.is_plain_quant() || !layout_is(c, {"BSH_BNSD", "BSND_BNSD"})) return {};
    if (c.is_list()) return no_list(c, c.layout->name);
    return c.extra[kPseShift] == nullptr ? Finding{} : excluded(c, kPseShift, c.layout->name);
}

Finding mla_out_type(const Case& c) {
    if (!c.is_decode_mla() || !layout_is(c, {"TND_NTD"}) || !c.is_post_quant()) return {};
    return dtype_refused("attentionOut", "FLOAT16 or BF16 in decode MLA with layout TND_NTD", c.out->dtype);
}

bool is_plain_gqa(const Case& c) { return c.is_gqa() && c.is_plain_quant(); }

Finding different_dims_layout(const Case& c) {
    if (!is_plain_gqa(c) || !c.is_dim_different() ||
        !layout_is(c, {"NTD", "NTD_TND", "BSH_BNSD", "BSND_BNSD", "BNSD_BSND"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, BNSD or TND", "head dims that differ between query and value");
}

Finding narrow_layout_dim(const Case& c) {
    if (!is_plain_gqa(c) || !layout_is(c, {"NTD", "NTD_TND", "BSH_BNSD", "BSND_BNSD"})) return {};
    if (is_one_of(c.dim, {64, 128})) return {};
    return violated("query", text("a head dim of 64 or 128 with layout ", c.layout->name), text(c.dim));
}

Finding bnsd_bsnd_int8_dim(const Case& c) {
    if (!is_plain_gqa(c) || !layout_is(c, {"BNSD_BSND"}) || c.out->dtype != ACL_INT8 || c.dim % 32 == 0) return {};
    return violated("query", "a head dim that 32 divides with layout BNSD_BSND and an INT8 output", text(c.dim));
}

Finding bnsd_bsnd_dim(const Case& c) {
    if (!is_plain_gqa(c) || !layout_is(c, {"BNSD_BSND"}) || c.dim % 16 == 0) return {};
    return violated("query", "a head dim that 16 divides with layout BNSD_BSND", text(c.dim));
}

Finding different_dims_types(const Case& c) {
    if (!c.is_dim_different()) return {};
    const char* with = "FLOAT16 or BF16 where head dims differ between query and value";
    for (const auto& [name, dtype] : {std::pair<const char*, aclDataType>{"query", c.query->dtype},
                                      {"key", c.key->front()->dtype},
                                      {"value", c.value->front()->dtype},
                                      {"attentionOut", c.out->dtype}}) {
        if (!is_16bit(dtype)) return dtype_refused(name, with, dtype);
    }
    return {};
}

constexpr const char* kMain = "query, key, value, attentionOut";

constexpr Rule<Case> kRules[] = {
    {"COM-S-04", Tier::single, plain_types, kProducts, kMain,
     "calls that are not quantised have FLOAT16 or BF16 for query, key and value, and one of these or a "
     "post-quantised type for attentionOut", Known::tensors, kTypeStatus},
    {"COM-S-05", Tier::single, main_formats, kEverywhere, kMain,
     "formats are ND, NCHW, NHWC or NCDHW, which all count as ND", Known::tensors, ACLNN_ERR_PARAM_INVALID},
    {"HOST-S-06", Tier::single, other_formats, kEverywhere, "", "optional tensors have format ND", Known::tensors,
     ACLNN_ERR_PARAM_INVALID},
    {"COM-S-06", Tier::single, mla_heads, kProducts, "numHeads",
     "decode MLA has 1, 2, 4, 8, 16, 32, 64 or 128 query heads; newest Ascend950 software takes any number up to 128 "
     "if the call is not quantised"},
    {"COM-S-07", Tier::single, mla_kv_heads, kProducts, "numKeyValueHeads", "decode MLA has one key/value head"},
    {"COM-S-08", Tier::single, gqa_layout, kProducts, "inputLayout",
     "without ropes, the layout is BSH, BSND, BNSD, TND, NTD, BSH_BNSD, BSND_BNSD, BNSD_BSND or NTD_TND"},
    {"COM-S-09", Tier::single, decode_mla_layout, kProducts, "inputLayout",
     "in decode MLA, the layout is BSH, BSND, BNSD, TND, BSH_NBSD, BSND_NBSD, BNSD_NBSD or TND_NTD"},
    {"COM-S-10", Tier::single, prefill_mla_layout, kProducts, "inputLayout",
     "in prefill MLA, and with ropes at any other head dim than 512, the layout is one of those without ropes"},
    {"COM-S-11", Tier::single, older_value_dim, kOlder, "value",
     "without ropes, value's head dim is a multiple of 16 (BSH, BSND, BNSD, BNSD_BSND with several query tokens), "
     "64, 128 or 192 (TND), 64 or 128 (other layouts)"},
    {"COM-S-12", Tier::single, older_combined_dims, kOlder, "query, value",
     "a query that is wider than value has head dim 192, and value 128"},
    {"COM-S-13", Tier::single, inner_precise_known, kEverywhere, "innerPrecise",
     "innerPrecise is 0, 1, 2 or 3; newest software takes 4 too"},
    {"HOST-S-03", Tier::single, scale_is_number, and_host(page_only(kProducts)), "scaleValue",
     "the scale is a finite 32-bit float", Known::nothing},
    {"HOST-S-04", Tier::single, no_negative_block_size, and_host(page_only(kProducts)), "blockSize",
     "blockSize is not negative without a blockTable either", Known::tensors},

    {"COM-X-01", Tier::consistency, packed_without_pse, kProducts, "pseShift",
     "packed queries that are not quantised have no pseShift"},
    {"COM-X-02", Tier::consistency, packed_without_list, kProducts, "key, value",
     "packed queries that are not quantised have no tensor list"},
    {"COM-X-03", Tier::consistency, transposed_out_alone, kProducts, "key, value, pseShift",
     "layouts BSH_BNSD and BSND_BNSD have neither a tensor list nor pseShift"},
    {"COM-X-04", Tier::consistency, mla_out_type, kProducts, "attentionOut",
     "decode MLA with layout TND_NTD has no quantised output"},
    {"COM-C-09", Tier::consistency, different_dims_layout, kProducts, "inputLayout",
     "where value's head dim differs, the layout is none of NTD, NTD_TND, BSH_BNSD, BSND_BNSD, BNSD_BSND"},
    {"COM-C-10", Tier::consistency, narrow_layout_dim, kProducts, "query",
     "layouts NTD, NTD_TND, BSH_BNSD and BSND_BNSD have head dim 64 or 128"},
    {"COM-C-12", Tier::consistency, bnsd_bsnd_int8_dim, kProducts, "query",
     "with layout BNSD_BSND and an INT8 output, 32 divides the head dim"},
    {"COM-C-11", Tier::consistency, bnsd_bsnd_dim, kProducts, "query",
     "with layout BNSD_BSND, 16 divides the head dim"},
    {"COM-C-08", Tier::consistency, different_dims_types, kProducts, kMain,
     "where value's head dim differs, all types are FLOAT16 or BF16"},
};

}  // namespace

const Group<Case> kCommonRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
