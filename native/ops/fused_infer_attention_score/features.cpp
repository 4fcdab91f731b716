// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/steps.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

// One rope alone, or one prefix, is refused at once: the class of the call hangs on it.
Finding both_or_none(const Case& c, Input a, Input b) {
    if ((c.extra[a] == nullptr) == (c.extra[b] == nullptr)) return {};
    const Input there = c.extra[a] != nullptr ? a : b;
    return violated(kInputNames[there == a ? b : a], text("a tensor, as ", kInputNames[there], " is one"), "nothing");
}

Finding ropes_together(Case& c) { return both_or_none(c, kQueryRope, kKeyRope); }
Finding prefixes_together(Case& c) { return both_or_none(c, kKeySharedPrefix, kValueSharedPrefix); }

Finding other_axes(Input input, const meta::Tensor& tensor, const char* name, const meta::Tensor& model) {
    return violated(kInputNames[input], text("as many axes as ", name, ", ", shape_text(model)),
                    text("shape ", shape_text(tensor)));
}

Finding indivisible(Input input, const meta::Tensor& tensor, const char* attribute, int64_t heads) {
    return violated(kInputNames[input], text("a last axis that ", attribute, " = ", heads, " divides"),
                    text("shape ", shape_text(tensor)));
}

Finding read_query_rope(Case& c) {
    if (!c.has_rope()) return {};
    const meta::Tensor& rope = *c.extra[kQueryRope];
    if (rope.rank != c.query->rank) return other_axes(kQueryRope, rope, "query", *c.query);
    if (c.layout->query == geometry::Order::bsh && rope.shape[2] % c.heads != 0) {
        return indivisible(kQueryRope, rope, "numHeads", c.heads);
    }
    c.q_rope = geometry::extents(c.layout->query, rope.shape, c.heads);
    return {};
}

Finding read_key_rope(Case& c) {
    if (!c.has_rope()) return {};
    const meta::Tensor& rope = *c.extra[kKeyRope];
    const bool paged = c.storage == Storage::paged;
    if (rope.rank != c.key->front()->rank) return other_axes(kKeyRope, rope, "key", *c.key->front());
    const bool fused = paged ? c.cache == geometry::CacheOrder::bnbsh : c.layout->query == geometry::Order::bsh;
    if (fused && rope.shape[2] % c.kv_heads != 0) return indivisible(kKeyRope, rope, "numKeyValueHeads", c.kv_heads);
    if (paged) {
        c.k_rope_cache = geometry::cache_extents(c.cache, rope.shape, c.kv_heads);
    } else {
        c.k_rope = geometry::extents(c.layout->query, rope.shape, c.kv_heads);
    }
    return {};
}

Finding prefix_has_a_place(Case& c) {
    if (!c.has_prefix() || (c.storage == Storage::dense && !c.is_packed())) return {};
    const char* with = c.is_packed() ? "layouts without a batch axis" : c.storage == Storage::paged ? "a blockTable"
                                                                                                    : "tensor lists";
    return violated("keySharedPrefix", text("nothing with ", with),
                    text("a tensor of shape ", shape_text(*c.extra[kKeySharedPrefix])));
}

Finding read_prefixes(Case& c) {
    if (!c.has_prefix()) return {};
    for (const Input input : {kKeySharedPrefix, kValueSharedPrefix}) {
        const meta::Tensor& prefix = *c.extra[input];
        if (prefix.rank != c.key->front()->rank) return other_axes(input, prefix, "key", *c.key->front());
        if (c.layout->query == geometry::Order::bsh && prefix.shape[2] % c.kv_heads != 0) {
            return indivisible(input, prefix, "numKeyValueHeads", c.kv_heads);
        }
        (input == kKeySharedPrefix ? c.k_prefix : c.v_prefix) =
            geometry::extents(c.layout->query, prefix.shape, c.kv_heads);
    }
    return {};
}

Finding read_prefix_length(Case& c) {
    const std::vector<int64_t>* length = given_ints(c.call, kActualSharedPrefixLen);
    if (c.kv_is_empty) return {};
    if (!c.has_prefix()) {
        if (length == nullptr) return {};
        return violated("actualSharedPrefixLen", "nothing without keySharedPrefix and valueSharedPrefix",
                        text("an array of ", length->size(), " entries"));
    }
    if (length != nullptr && length->size() != 1) {
        return violated("actualSharedPrefixLen", "one entry", text(length->size()));
    }
    c.prefix_len = length != nullptr ? length->front() : c.k_prefix.tokens;
    if (c.prefix_len >= 0 && c.prefix_len <= c.k_prefix.tokens) return {};
    return violated("actualSharedPrefixLen",
                    text("0 to ", c.k_prefix.tokens, ", the token axis of keySharedPrefix"), text(c.prefix_len));
}

constexpr Step kSteps[] = {
    {"ROPE-E-01", ropes_together},
    {"ROPE-X-02", read_query_rope},
    {"ROPE-X-03", read_key_rope},
    {"PFX-E-01", prefixes_together},
    {"PFX-X-05", prefix_has_a_place},  // with PFX-X-01 and 02
    {"PFX-S-02", read_prefixes},
    {"PFX-S-08", read_prefix_length},  // with PFX-S-07 and 09
};

}  // namespace

Finding find_features(Case& subject) { return subject.is_empty ? Finding{} : take(kSteps, subject); }

}  // namespace acl_attn::ops::fia
