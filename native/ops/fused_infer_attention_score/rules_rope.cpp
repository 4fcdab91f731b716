// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary parts in tensors of their own: what goes with them. Their shapes are in rules_rope_shapes.cpp.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding rope_types(const Case& c) {
    if (!c.has_rope()) return {};
    for (const Input input : {kQueryRope, kKeyRope}) {
        if (!is_16bit(c.extra[input]->dtype)) {
            return dtype_refused(kInputNames[input], "FLOAT16 or BF16", c.extra[input]->dtype);
        }
    }
    return {};
}

Finding rope_dim(const Case& c) {
    constexpr int64_t product = 64;
    if (!c.has_rope()) return {};
    const int64_t dim = c.q_rope.dim;
    if (c.is_host() ? dim >= 1 && dim <= product : dim == product) return {};
    return violated("queryRope", text("a head dim of ", c.is_host() ? "1 to " : "", product), text(dim));
}

Finding no_prefix(const Case& c) {
    if (!c.has_rope() || !c.has_prefix()) return {};
    return violated("keySharedPrefix", "nothing with keyRope: a prefix has no rope of its own",
                    text("shape ", shape_text(*c.extra[kKeySharedPrefix])));
}

Finding no_pse(const Case& c) {
    return c.has_rope() && c.extra[kPseShift] != nullptr ? excluded(c, kPseShift, "ropes") : Finding{};
}

Finding no_slopes(const Case& c) {
    if (!c.has_rope() || !c.has_slopes()) return {};
    return violated("pseType", "0 with ropes", text(c.call.pse_type));
}

Finding no_antiquant(const Case& c) {
    return c.has_rope() && c.is_anti() ? excluded(c, kQueryRope, "keys of another dtype than query") : Finding{};
}

// Products ask the attribute itself, so that one head with 0 for "as many" is refused.
Finding mla_kv_heads(const Case& c) {
    if (!c.is_decode_mla() || c.call.num_key_value_heads == 1) return {};
    return violated("numKeyValueHeads", "1, spelled out, in decode MLA", text(c.call.num_key_value_heads));
}

Finding quant_mla_queries(const Case& c) {
    if (c.call.is_largest || !c.is_decode_mla() || !c.is_full_quant()) return {};
    if (c.product_q >= 1 && c.product_q <= 16) return {};
    return violated("query", "1 to 16 tokens a sequence in fully quantised decode MLA", text(c.product_q));
}

Finding mla_no_padding(const Case& c) {
    if (!c.is_decode_mla()) return {};
    return first_excluded(c, {kQueryPaddingSize, kKvPaddingSize}, "decode MLA");
}

Finding mla_no_list(const Case& c) { return c.is_decode_mla() && c.is_list() ? no_list(c, "decode MLA") : Finding{}; }

Finding prefill_not_quantised(const Case& c) {
    if (!c.is_prefill_mla() || !c.is_full_quant()) return {};
    return dtype_refused("query", "FLOAT16 or BF16 in prefill MLA", c.query->dtype);
}

Finding reserved_absent(const Case& c) {
    if (!c.is_strict() || c.extra[kKeyRopeAntiquantScale] == nullptr) return {};
    return violated("keyRopeAntiquantScale", "nothing: it is reserved",
                    text("shape ", shape_text(*c.extra[kKeyRopeAntiquantScale])));
}

Finding key_rope_dense(const Case& c) {
    if (!c.has_rope() || c.is_paged() || c.extra[kKeyRope]->is_contiguous()) return {};
    return violated("keyRope", "a contiguous tensor", text("strides ", strides_text(*c.extra[kKeyRope])));
}

Finding older_rope_alone(const Case& c) {
    if (!c.has_rope()) return {};
    if (Finding f = first_excluded(c, {kQueryPaddingSize, kKvPaddingSize}, "ropes")) return f;
    if (c.is_list()) return no_list(c, "ropes");
    return c.is_post_quant() ? dtype_refused("attentionOut", "FLOAT16 or BF16 with ropes", c.out->dtype) : Finding{};
}

constexpr const char* kRopes = "queryRope, keyRope";

constexpr Rule<Case> kRules[] = {
    {"ROPE-S-01", Tier::single, rope_types, kEverywhere, kRopes, "both ropes are FLOAT16 or BF16", Known::tensors},
    {"ROPE-S-02", Tier::single, rope_dim, kEverywhere, "queryRope",
     "ropes have head dim 64; profile host takes smaller ones"},
    {"ROPE-X-18", Tier::existence, reserved_absent, and_host(page_only(kProducts)), "keyRopeAntiquantScale",
     "the reserved parameter is not given", Known::tensors},
    {"ROPE-X-07", Tier::cross, no_prefix, kEverywhere, "keySharedPrefix", "ropes have no shared prefix"},
    {"ROPE-X-08", Tier::cross, no_pse, kProducts, "pseShift", "ropes have no pseShift"},
    {"ROPE-X-09", Tier::cross, no_slopes, page_only(kProducts), "pseType", "ropes have no slopes"},
    {"ROPE-X-13", Tier::cross, mla_kv_heads, kProducts, "numKeyValueHeads",
     "in decode MLA numKeyValueHeads is 1, spelled out"},
    {"ROPE-X-14", Tier::cross, quant_mla_queries, kProducts, "query",
     "fully quantised decode MLA has 1 to 16 query tokens a sequence"},
    {"ROPE-X-15", Tier::cross, mla_no_padding, kProducts, "queryPaddingSize, kvPaddingSize",
     "decode MLA has no left padding"},
    {"ROPE-X-16", Tier::cross, mla_no_list, kProducts, "key, value", "decode MLA has no tensor list"},
    {"ROPE-X-17", Tier::cross, prefill_not_quantised, page_only(kProducts), "query",
     "prefill MLA is not fully quantised"},
    {"ROPE-X-19", Tier::cross, key_rope_dense, newest_only(kProducts), "keyRope",
     "keyRope is contiguous unless paged"},
    {"ROPE-X-20", Tier::cross, older_rope_alone, kOlder, "queryPaddingSize, kvPaddingSize, key, attentionOut",
     "ropes have no left padding, no tensor list and no quantised output"},
    {"ROPE-X-10", Tier::cross, no_antiquant, kEverywhere, kRopes, "ropes have keys of query's type"},
};

}  // namespace

const Group<Case> kRopeRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
