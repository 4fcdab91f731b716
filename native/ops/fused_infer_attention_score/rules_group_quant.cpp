// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Quantised queries: the two schemes of newer software, FLOAT8_E4M3FN with a scale for each token and head (modes 3, 3,
// 2) and with E8M0 scales for groups (modes 6, 6, 8).
#include <algorithm>
#include <iterator>

#include "ops/fused_infer_attention_score/full_quant.h"
#include "ops/fused_infer_attention_score/full_quant_rules.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::CacheOrder;
using geometry::Order;

bool is_mx(const Case& c) { return is_scheme(c, Quantisation::mx_f8); }
bool is_gqa(const Case& c) { return is_scheme(c, Quantisation::gqa_f8); }

Finding mx_scale_types(const Case& c) {
    return is_mx(c) ? scales_have_type(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale},
                                       ACL_FLOAT8_E8M0)
                    : Finding{};
}
Finding gqa_scale_types(const Case& c) {
    return is_gqa(c) ? scales_have_type(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}, ACL_FLOAT)
                     : Finding{};
}
Finding p_scale(const Case& c, bool applies) {
    if (!applies) return {};
    if (Finding f = scales_have_type(c, {kQuantScale1}, ACL_FLOAT)) return f;
    return scale_has_shape(c, kQuantScale1, {{1}});
}
Finding mx_p_scale(const Case& c) { return p_scale(c, is_mx(c)); }
Finding gqa_p_scale(const Case& c) { return p_scale(c, is_gqa(c)); }

Finding mx_scales_given(const Case& c) {
    return is_mx(c) ? scales_given(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}) : Finding{};
}
Finding gqa_scales_given(const Case& c) {
    return is_gqa(c) ? scales_given(c, {kDequantScaleQuery, kKeyAntiquantScale, kValueAntiquantScale}) : Finding{};
}
Finding none_other(const Case& c, bool applies) {
    return applies ? none_of(c, {kKeyAntiquantOffset, kValueAntiquantOffset, kAntiquantOffset, kDeqScale1, kDeqScale2,
                                 kQuantScale2, kQuantOffset2, kAntiquantScale, kKeyRopeAntiquantScale})
                   : Finding{};
}
Finding mx_none_other(const Case& c) { return none_other(c, is_mx(c)); }
Finding gqa_none_other(const Case& c) { return none_other(c, is_gqa(c)); }

Finding gqa_paged(const Case& c) {
    if (!is_gqa(c) || c.is_paged()) return {};
    return violated("blockTable", text("a table of blocks with ", scheme_name(c.quantisation)), "nothing");
}

Finding mx_types(const Case& c) {
    return is_mx(c) ? all_types(c, {ACL_FLOAT8_E4M3FN}, "FLOAT8_E4M3FN") : Finding{};
}
Finding gqa_types(const Case& c) {
    return is_gqa(c) ? all_types(c, {ACL_FLOAT8_E4M3FN}, "FLOAT8_E4M3FN") : Finding{};
}
Finding mx_out_type(const Case& c) {
    return is_mx(c) ? out_has_type(c, {ACL_FLOAT16, ACL_BF16}, "FLOAT16 or BF16") : Finding{};
}
Finding gqa_out_type(const Case& c) {
    return is_gqa(c) ? out_has_type(c, {ACL_FLOAT16, ACL_BF16}, "FLOAT16 or BF16") : Finding{};
}
Finding mx_rope_types(const Case& c) {
    if (!is_mx(c) || !c.has_rope()) return {};
    if (Finding f = scales_have_type(c, {kQueryRope, kKeyRope}, ACL_BF16)) return f;
    return out_has_type(c, {ACL_BF16}, "BF16, as there are ropes,");
}

Finding mx_layout(const Case& c) {
    return !is_mx(c) || layout_is(c, {"TND"}) ? Finding{} : layout_refused(c, "TND", scheme_name(c.quantisation));
}
Finding gqa_layout(const Case& c) {
    if (!is_gqa(c)) return {};
    if (!c.is_host() && !layout_is(c, {"NTD_TND"})) return layout_refused(c, "NTD_TND", scheme_name(c.quantisation));
    if (!c.is_paged() || c.cache == CacheOrder::bnnbsd) return {};
    return violated("key", text("a cache ", geometry::axes(CacheOrder::bnnbsd)),
                    text("shape ", shape_text(*c.key->front())));
}

Finding mx_heads(const Case& c) { return is_mx(c) ? heads_in_range(c, 256, 256, 64) : Finding{}; }
Finding gqa_heads(const Case& c) { return is_gqa(c) ? heads_in_range(c, 256, 256, 64) : Finding{}; }

Finding mx_dims(const Case& c) {
    if (!is_mx(c)) return {};
    const bool fits = c.is_host() ? c.dim % kPaired == 0 && c.dim_v % kPaired == 0
                                  : c.dim == c.dim_v && is_one_of(c.dim, {64, 128});
    if (fits) return {};
    return violated("query",
                    c.is_host() ? text("head dims that ", kPaired, " divides with ", scheme_name(c.quantisation))
                                : text("head dims of 64 or of 128 with ", scheme_name(c.quantisation)),
                    text(c.dim, ", and value's ", c.dim_v));
}
Finding gqa_dims(const Case& c) {
    if (!is_gqa(c) || (c.dim == 128 && c.dim_v == 128)) return {};
    return violated("query", text("head dims of 128 with ", scheme_name(c.quantisation)),
                    text(c.dim, ", and value's ", c.dim_v));
}

Finding mx_query_scale(const Case& c) {
    if (!is_mx(c)) return {};
    return scale_has_shape(c, kDequantScaleQuery,
                           {{c.q.tokens, c.heads, pairs(c.dim), kHalves},
                            {c.kv_heads, c.q.tokens, c.heads / c.kv_heads, pairs(c.dim), kHalves}});
}

Finding mx_packed_scales(const Case& c) {
    const int64_t n = c.kv_heads;
    if (c.is_list()) return {};
    if (Finding f = scale_has_shape(c, kKeyAntiquantScale, {{c.k.front().tokens, n, pairs(c.dim), kHalves}})) return f;
    const meta::Tensor* value = c.extra[kValueAntiquantScale];
    if (c.call.is_largest) {
        const bool fits = value == nullptr || value->rank == 4;
        return fits ? Finding{} : shape_refused("valueAntiquantScale", "of 4 axes", *value);
    }
    int64_t value_pairs = 0;  // groups of tokens begin anew with each sequence
    for (const Tokens& tokens : c.kv_tokens) value_pairs += pairs(tokens.count);
    return scale_has_shape(c, kValueAntiquantScale, {{value_pairs, n, c.dim_v, kHalves}});
}

Finding mx_paged_scales(const Case& c) {
    const int64_t n = c.kv_heads;
    const int64_t blocks = c.k_cache.blocks;
    const int64_t size = c.call.block_size;
    if (c.cache == CacheOrder::bnbsh) return {};  // PA-X-11
    if (c.cache == CacheOrder::nz) {
        const int64_t lines = size / kRun + (size % kRun != 0);
        const int64_t channels = c.dim_v / kRun + (c.dim_v % kRun != 0);
        if (Finding f = scale_has_shape(c, kKeyAntiquantScale, {{blocks, n, lines, pairs(c.dim), kRun, kHalves}})) {
            return f;
        }
        return scale_has_shape(c, kValueAntiquantScale, {{blocks, n, channels, pairs(size), kRun, kHalves}});
    }
    if (Finding f = scale_has_shape(c, kKeyAntiquantScale, {{blocks, n, size, pairs(c.dim), kHalves}})) return f;
    return scale_has_shape(c, kValueAntiquantScale, {{blocks, n, pairs(size), c.dim_v, kHalves}});
}

Finding mx_kv_scales(const Case& c) {
    if (!is_mx(c)) return {};
    return c.is_paged() ? mx_paged_scales(c) : mx_packed_scales(c);
}

Finding gaps_refused(const char* name, const meta::Tensor& tensor, int free) {
    return violated(name, free == 0 ? "a contiguous tensor" : "dense axes behind the block and the head axis",
                    text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)));
}

Finding mx_strides(const Case& c) {
    if (!is_mx(c)) return {};
    const int free = c.is_paged() ? 2 : 0;
    for (const auto& [name, tensor] :
         {std::pair<const char*, const meta::Tensor*>{"key", c.key->front().get()},
          {"value", c.value->front().get()},
          {"keyAntiquantScale", c.extra[kKeyAntiquantScale]},
          {"valueAntiquantScale", c.extra[kValueAntiquantScale]}}) {
        if (tensor == nullptr || tensor->is_empty() || tensor->rank < free || tensor->is_dense_from(free)) continue;
        return gaps_refused(name, *tensor, free);
    }
    return {};
}

Finding gqa_strides(const Case& c) {
    if (!is_gqa(c) || !c.is_paged() || c.cache != CacheOrder::bnnbsd) return {};
    for (const auto& [name, tensor] :
         {std::pair<const char*, const meta::Tensor*>{"key", c.key->front().get()},
          {"value", c.value->front().get()},
          {"keyAntiquantScale", c.extra[kKeyAntiquantScale]}}) {
        if (tensor == nullptr || tensor->is_empty() || tensor->rank < 3 || tensor->is_dense_from(2)) continue;
        return gaps_refused(name, *tensor, 2);
    }
    return {};
}

// Profile host reads scales of paged tensors where their first two axes have gaps, those of decode MLA where they have
// none.
Finding readable_scale_strides(const Case& c) {
    if (!c.is_full_quant() || !c.is_paged()) return {};
    for (const Input input : {kKeyAntiquantScale, kValueAntiquantScale}) {
        const meta::Tensor* scale = c.extra[input];
        if (scale == nullptr || scale->is_contiguous()) continue;
        const bool may_have_gaps = c.quantisation != Quantisation::mla && scale->rank > 2;
        if (may_have_gaps && scale->is_dense_from(2)) continue;
        return gaps_refused(kInputNames[input], *scale, may_have_gaps ? 2 : 0);
    }
    return {};
}

Finding gqa_query_scale(const Case& c) {
    if (!is_gqa(c)) return {};
    switch (c.layout->query) {
        case Order::bsh:
        case Order::bsnd: return scale_has_shape(c, kDequantScaleQuery, {{c.q.batch, c.q.tokens, c.heads}});
        case Order::bnsd: return scale_has_shape(c, kDequantScaleQuery, {{c.q.batch, c.heads, c.q.tokens}});
        case Order::tnd: return scale_has_shape(c, kDequantScaleQuery, {{c.q.tokens, c.heads}});
        case Order::ntd: return scale_has_shape(c, kDequantScaleQuery, {{c.heads, c.q.tokens}});
        case Order::nbsd: break;
    }
    return {};
}
Finding gqa_key_scale(const Case& c) {
    if (!is_gqa(c) || !c.is_paged()) return {};
    return scale_has_shape(c, kKeyAntiquantScale, {{c.k_cache.blocks, c.kv_heads, c.call.block_size}});
}
Finding gqa_value_scale(const Case& c) {
    return is_gqa(c) ? scale_has_shape(c, kValueAntiquantScale, {{c.kv_heads}}) : Finding{};
}

Finding alone(const Case& c, bool applies) {
    if (!applies) return {};
    if (Finding f = none_of(c, {kPseShift, kQueryPaddingSize, kKvPaddingSize, kKeySharedPrefix})) return f;
    if (c.has_slopes()) return violated("pseType", text("0 with ", scheme_name(c.quantisation)), text(c.call.pse_type));
    return c.is_list() ? no_list(c, scheme_name(c.quantisation)) : Finding{};
}
Finding mx_alone(const Case& c) { return alone(c, is_mx(c)); }
Finding gqa_alone(const Case& c) {
    if (Finding f = alone(c, is_gqa(c))) return f;
    return is_gqa(c) ? none_of(c, {kQueryRope}) : Finding{};
}

Finding precise(const Case& c, bool applies) {
    if (!applies || is_one_of(c.call.inner_precise, {0, 1})) return {};
    return violated("innerPrecise", text("0 or 1 with ", scheme_name(c.quantisation)), text(c.call.inner_precise));
}
Finding mx_precise(const Case& c) { return precise(c, is_mx(c)); }
Finding gqa_precise(const Case& c) { return precise(c, is_gqa(c)); }

constexpr Scope kNewest = newest_only(kProducts);
constexpr const char* kThree = "dequantScaleQuery, keyAntiquantScale, valueAntiquantScale";
constexpr const char* kOthers =
    "keyAntiquantOffset, valueAntiquantOffset, antiquantOffset, deqScale1, deqScale2, quantScale2, quantOffset2, "
    "antiquantScale, keyRopeAntiquantScale";
constexpr const char* kMain = "query, key, value";

constexpr Rule<Case> kRules[] = {
    {"DQF-S-08", Tier::single, mx_scale_types, kNewestAndHost, kThree,
     "modes 6, 6, 8: the three scales are FLOAT8_E8M0", Known::tensors},
    {"DQF-S-09", Tier::single, mx_p_scale, kNewestAndHost, "quantScale1",
     "modes 6, 6, 8: quantScale1, if given, is one FLOAT", Known::tensors},
    {"DQF-S-11", Tier::single, gqa_scale_types, kNewestAndHost, kThree, "modes 3, 3, 2: the three scales are FLOAT",
     Known::tensors},
    {"DQF-S-12", Tier::single, gqa_p_scale, kNewestAndHost, "quantScale1",
     "modes 3, 3, 2: quantScale1, if given, is one FLOAT", Known::tensors},
    {"DQF-E-12", Tier::existence, mx_scales_given, kNewestAndHost, kThree,
     "modes 6, 6, 8: the three scales are given", Known::tensors},
    {"DQF-E-13", Tier::existence, mx_none_other, kNewestAndHost, kOthers,
     "modes 6, 6, 8: no offset and no other scale is given", Known::tensors},
    {"DQF-E-14", Tier::existence, gqa_scales_given, kNewestAndHost, kThree,
     "modes 3, 3, 2: the three scales are given", Known::tensors},
    {"DQF-E-15", Tier::existence, gqa_none_other, kNewestAndHost, kOthers,
     "modes 3, 3, 2: no offset and no other scale is given", Known::tensors},
    {"DQF-E-16", Tier::existence, gqa_paged, kNewestAndHost, "blockTable", "modes 3, 3, 2: keys are paged",
     Known::tensors},
    {"DQF-X-35", Tier::cross, mx_types, kNewestAndHost, kMain,
     "modes 6, 6, 8: query, key and value are FLOAT8_E4M3FN", Known::tensors},
    {"DQF-X-36", Tier::cross, mx_out_type, kNewest, "attentionOut", "modes 6, 6, 8: the output is FLOAT16 or BF16",
     Known::tensors},
    {"DQF-X-37", Tier::cross, mx_rope_types, kNewestAndHost, "queryRope, keyRope, attentionOut",
     "modes 6, 6, 8: with ropes, these and the output are BF16", Known::tensors},
    {"DQF-X-38", Tier::cross, mx_layout, kNewestAndHost, "inputLayout", "modes 6, 6, 8: the layout is TND"},
    {"DQF-X-39", Tier::cross, mx_heads, kNewest, "numHeads, numKeyValueHeads",
     "modes 6, 6, 8: at most 256 heads of either kind, and 64 to one"},
    {"DQF-X-40", Tier::cross, mx_dims, kNewestAndHost, "query, value",
     "modes 6, 6, 8: both head dims are 64, or both 128; profile host takes multiples of 64"},
    {"DQF-X-43", Tier::cross, mx_strides, kNewest, "key, value, keyAntiquantScale, valueAntiquantScale",
     "modes 6, 6, 8: packed tensors are contiguous, paged ones may have gaps in the first two axes"},
    {"DQF-X-41", Tier::cross, mx_query_scale, kNewestAndHost, "dequantScaleQuery",
     "modes 6, 6, 8: query's scale is (T, N, D/64, 2) or (Nkv, T, G, D/64, 2)"},
    {"DQF-X-42", Tier::cross, mx_kv_scales, kNewestAndHost, "keyAntiquantScale, valueAntiquantScale",
     "modes 6, 6, 8: scales are (T, Nkv, D/64, 2) and (groups, Nkv, D, 2); of caches (blocks, Nkv, blockSize, D/64, "
     "2) and (blocks, Nkv, blockSize/64, D, 2), or these with runs of 16 lines", Known::lengths},
    {"DQF-X-44", Tier::cross, mx_alone, kNewestAndHost,
     "pseShift, queryPaddingSize, kvPaddingSize, keySharedPrefix, key",
     "modes 6, 6, 8: no bias, left padding, shared prefix or tensor list"},
    {"DQF-X-45", Tier::cross, mx_precise, kNewest, "innerPrecise", "modes 6, 6, 8: innerPrecise is 0 or 1"},
    {"DQF-X-46", Tier::cross, gqa_types, kNewestAndHost, kMain,
     "modes 3, 3, 2: query, key and value are FLOAT8_E4M3FN", Known::tensors},
    {"DQF-X-47", Tier::cross, gqa_out_type, kNewest, "attentionOut", "modes 3, 3, 2: the output is FLOAT16 or BF16",
     Known::tensors},
    {"DQF-X-48", Tier::cross, gqa_layout, kNewestAndHost, "inputLayout, key",
     "modes 3, 3, 2: the layout is NTD_TND, over a cache of 4 axes; profile host takes any layout"},
    {"DQF-X-49", Tier::cross, gqa_heads, kNewest, "numHeads, numKeyValueHeads",
     "modes 3, 3, 2: at most 256 heads of either kind, and 64 to one"},
    {"DQF-X-50", Tier::cross, gqa_dims, kNewest, "query, value", "modes 3, 3, 2: head dims are 128"},
    {"DQF-X-51", Tier::cross, gqa_strides, kNewest, "key, value, keyAntiquantScale",
     "modes 3, 3, 2: only the first two axes have gaps"},
    {"DQF-X-52", Tier::cross, gqa_query_scale, kNewestAndHost, "dequantScaleQuery",
     "modes 3, 3, 2: query's scale is (N, T)"},
    {"DQF-X-53", Tier::cross, gqa_key_scale, kNewestAndHost, "keyAntiquantScale",
     "modes 3, 3, 2: key's scale is (blocks, Nkv, blockSize)"},
    {"DQF-X-54", Tier::cross, gqa_value_scale, kNewestAndHost, "valueAntiquantScale",
     "modes 3, 3, 2: value's scale is (Nkv)"},
    {"DQF-X-55", Tier::cross, gqa_alone, kNewestAndHost,
     "pseShift, queryPaddingSize, kvPaddingSize, keySharedPrefix, key, queryRope",
     "modes 3, 3, 2: no bias, left padding, shared prefix, tensor list or ropes"},
    {"DQF-X-56", Tier::cross, gqa_precise, kNewest, "innerPrecise", "modes 3, 3, 2: innerPrecise is 0 or 1"},
    {"HOST-C-05", Tier::consistency, readable_scale_strides, kHostOnly, "keyAntiquantScale, valueAntiquantScale",
     "only the first two axes of paged scales have gaps; none in decode MLA"},
};

}  // namespace

const Group<Case> kGroupQuantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
