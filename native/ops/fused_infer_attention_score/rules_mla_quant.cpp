// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantised queries: decode MLA with a scale for each query token and head.
#include <iterator>

#include "ops/fused_infer_attention_score/full_quant_rules.h"

namespace acl_attn::ops::fia {
namespace {

constexpr Quantisation kOwn = Quantisation::mla;
bool is_own(const Case& c) { return is_scheme(c, kOwn); }

Finding scale_types(const Case& c) {
    return is_own(c) ? scales_have_type(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}, ACL_FLOAT)
                     : Finding{};
}
Finding kv_scale_shapes(const Case& c) {
    if (!is_own(c)) return {};
    if (Finding f = scale_has_shape(c, kKeyAntiquantScale, {{1}})) return f;
    return scale_has_shape(c, kValueAntiquantScale, {{1}});
}
Finding scales_present(const Case& c) {
    return is_own(c) ? scales_given(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}) : Finding{};
}
Finding no_offsets(const Case& c) {
    return is_own(c) ? none_of(c, {kAntiquantOffset, kKeyAntiquantOffset, kValueAntiquantOffset}) : Finding{};
}
Finding no_static_scales(const Case& c) {
    return is_own(c) ? none_of(c, {kDeqScale1, kQuantScale1, kDeqScale2}) : Finding{};
}
Finding no_merged(const Case& c) { return is_own(c) ? none_of(c, {kAntiquantScale}) : Finding{}; }
Finding no_rope_scale(const Case& c) { return is_own(c) ? none_of(c, {kKeyRopeAntiquantScale}) : Finding{}; }

Finding types(const Case& c) {
    return is_own(c) ? all_types(c, {ACL_FLOAT8_E4M3FN, ACL_INT8, ACL_HIFLOAT8}, "INT8, FLOAT8_E4M3FN or HIFLOAT8")
                     : Finding{};
}
Finding out_type(const Case& c) { return is_own(c) ? out_has_type(c, {ACL_BF16}, "BF16") : Finding{}; }
Finding rope_types(const Case& c) {
    return is_own(c) ? scales_have_type(c, {kQueryRope, kKeyRope}, ACL_BF16) : Finding{};
}

Finding float_layout(const Case& c) {
    if (!is_own(c) || c.query->dtype == ACL_INT8 ||
        layout_is(c, {"BSH", "BSND", "BNSD", "TND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND_NTD"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, BNSD, TND, BSH_NBSD, BSND_NBSD, BNSD_NBSD or TND_NTD", scheme_name(kOwn));
}
Finding int8_layout(const Case& c) {
    if (!is_own(c) || c.query->dtype != ACL_INT8 ||
        layout_is(c, {"BSH", "BSND", "TND", "BSH_NBSD", "BSND_NBSD", "TND_NTD"})) {
        return {};
    }
    return layout_refused(c, "BSH, BSND, TND, BSH_NBSD, BSND_NBSD or TND_NTD", "INT8 decode MLA");
}

Finding query_heads(const Case& c) {
    if (!is_own(c) || is_power_of_two_to_128(c.heads)) return {};
    return violated("numHeads", text("1, 2, 4, 8, 16, 32, 64 or 128 in ", scheme_name(kOwn)), text(c.heads));
}
Finding kv_heads(const Case& c) {
    if (!is_own(c) || c.kv_heads == 1) return {};
    return violated("numKeyValueHeads", text("1 in ", scheme_name(kOwn)), text(c.kv_heads));
}
Finding group(const Case& c) { return is_own(c) ? heads_in_range(c, INT64_MAX, INT64_MAX, 128) : Finding{}; }
Finding dim(const Case& c) {
    if (!is_own(c) || c.dim == 512) return {};
    return violated("query", "with queryQuantMode 3 a head dim of 512 (decode MLA)", text(c.dim));
}

Finding fused_query_scale(const Case& c) {
    if (!is_own(c) || !c.is_bsh()) return {};
    return scale_has_shape(c, kDequantScaleQuery, {{c.q.batch, c.q.tokens, c.heads}});
}
Finding query_scale(const Case& c) {
    if (!is_own(c) || c.is_bsh()) return {};
    return scale_has_shape(c, kDequantScaleQuery,
                           {ScaleShape(c.query->shape, c.query->shape + c.query->rank - 1)});
}

Finding no_prefix(const Case& c) {
    return is_own(c) && c.has_prefix() ? excluded(c, kKeySharedPrefix, scheme_name(kOwn)) : Finding{};
}
Finding no_pse(const Case& c) { return is_own(c) ? none_of(c, {kPseShift}) : Finding{}; }
Finding no_slopes(const Case& c) {
    if (!is_own(c) || !c.has_slopes()) return {};
    return violated("pseType", text("0 in ", scheme_name(kOwn)), text(c.call.pse_type));
}
Finding no_padding(const Case& c) {
    return is_own(c) ? none_of(c, {kQueryPaddingSize, kKvPaddingSize}) : Finding{};
}
Finding one_tensor(const Case& c) { return is_own(c) && c.is_list() ? no_list(c, scheme_name(kOwn)) : Finding{}; }
Finding int8_cache(const Case& c) {
    if (!is_own(c) || c.query->dtype != ACL_INT8 || (c.is_paged() && c.cache == geometry::CacheOrder::nz)) return {};
    return violated("key", "a paged cache of 5 axes in INT8 decode MLA", text("shape ", shape_text(*c.key->front())));
}

constexpr const char* kThree = "dequantScaleQuery, keyAntiquantScale, valueAntiquantScale";

constexpr Rule<Case> kRules[] = {
    {"DQF-S-01", Tier::single, scale_types, kEverywhere, kThree, "in decode MLA the three scales are FLOAT",
     Known::tensors},
    {"DQF-S-02", Tier::single, kv_scale_shapes, kEverywhere, "keyAntiquantScale, valueAntiquantScale",
     "in decode MLA the scales of key and value are one number each", Known::tensors},
    {"DQF-E-01", Tier::existence, scales_present, kEverywhere, kThree, "in decode MLA the three scales are given",
     Known::tensors},
    {"DQF-E-02", Tier::existence, no_offsets, kEverywhere,
     "antiquantOffset, keyAntiquantOffset, valueAntiquantOffset", "in decode MLA there are no offsets",
     Known::tensors},
    {"DQF-E-03", Tier::existence, no_static_scales, kEverywhere, "deqScale1, quantScale1, deqScale2",
     "nor scales that serve whole tensors", Known::tensors},
    {"DQF-E-04", Tier::existence, no_merged, kEverywhere, "antiquantScale", "nor one for key and value together",
     Known::tensors},
    {"DQF-E-05", Tier::existence, no_rope_scale, kEverywhere, "keyRopeAntiquantScale", "nor one for ropes",
     Known::tensors},
    {"DQF-X-03", Tier::cross, types, kProducts, "query, key, value",
     "in decode MLA, query, key and value are INT8, FLOAT8_E4M3FN or HIFLOAT8", Known::tensors},
    {"DQF-X-04", Tier::cross, out_type, kEverywhere, "attentionOut", "fully quantised decode MLA has a BF16 output",
     Known::tensors},
    {"DQF-X-05", Tier::cross, rope_types, kEverywhere, "queryRope, keyRope", "and BF16 ropes", Known::tensors},
    {"DQF-X-06", Tier::cross, float_layout, kProducts, "inputLayout",
     "with 8-bit floats it has a layout of decode MLA"},
    {"DQF-X-07", Tier::cross, int8_layout, kProducts, "inputLayout",
     "with INT8 it has one of BSH, BSND, TND, BSH_NBSD, BSND_NBSD, TND_NTD"},
    {"DQF-X-08", Tier::cross, query_heads, kProducts, "numHeads", "and 1, 2, 4, 8, 16, 32, 64 or 128 query heads"},
    {"DQF-X-09", Tier::cross, kv_heads, kProducts, "numKeyValueHeads", "and one key/value head"},
    {"DQF-X-10", Tier::cross, group, kProducts, "numHeads, numKeyValueHeads", "and at most 128 query heads to it"},
    {"DQF-X-11", Tier::cross, dim, kEverywhere, "query", "and head dim 512"},
    {"DQF-X-13", Tier::cross, fused_query_scale, kEverywhere, "dequantScaleQuery",
     "in layouts that begin with BSH, its query scale is (B, Sq, N)"},
    {"DQF-X-14", Tier::cross, query_scale, kEverywhere, "dequantScaleQuery",
     "in other layouts, its query scale has query's axes without the last"},
    {"DQF-X-15", Tier::cross, no_prefix, kProducts, "keySharedPrefix", "it has no shared prefix"},
    {"DQF-X-16", Tier::cross, no_pse, kEverywhere, "pseShift", "it has no pseShift"},
    {"DQF-X-17", Tier::cross, no_slopes, and_host(page_only(kProducts)), "pseType", "it has no slopes"},
    {"DQF-X-18", Tier::cross, no_padding, kEverywhere, "queryPaddingSize, kvPaddingSize", "it has no left padding"},
    {"DQF-X-19", Tier::cross, one_tensor, kProducts, "key, value", "it has no tensor list"},
    {"DQF-X-20", Tier::cross, int8_cache, kProducts, "key", "with INT8 it reads a paged cache of 5 axes"},
};

}  // namespace

const Group<Case> kMlaQuantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
