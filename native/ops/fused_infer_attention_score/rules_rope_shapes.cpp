// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary parts in tensors of their own: both or none, and shapes like those of query and key.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding both_or_none(const Case& c) {
    const bool q = c.extra[kQueryRope] != nullptr;
    if (q == (c.extra[kKeyRope] != nullptr)) return {};
    return violated(q ? "keyRope" : "queryRope", text("a tensor, as ", q ? "queryRope" : "keyRope", " is one"),
                    "nothing");
}

Finding query_dim(const Case& c) {
    if (!c.has_rope()) return {};
    const bool is_mx = c.quantisation == Quantisation::mx_f8;
    if (c.dim == 128 || c.dim == (is_mx ? 64 : 512)) return {};
    return violated("query", is_mx ? "a head dim of 64 or 128 with ropes and modes 6, 6, 8"
                                   : "a head dim of 128 or 512 with ropes", text(c.dim));
}

// One tensor for all sequences, even where keys are a list.
Finding like(Input rope, const char* model, const Case& c, const geometry::Extents& extents) {
    int64_t wanted[4];
    const int rank = geometry::rank(c.layout->query);
    geometry::shape(c.layout->query, extents, wanted);
    if (has_shape(*c.extra[rope], wanted, rank)) return {};
    return shape_refused(kInputNames[rope], text(dims_text(wanted, rank), ", ", model, "'s but for the head dim"),
                         *c.extra[rope]);
}

Finding query_rope_shape(const Case& c) {
    if (!c.has_rope()) return {};
    return like(kQueryRope, "query", c, {c.q.batch, c.q.tokens, c.heads, c.q_rope.dim});
}

Finding key_rope_shape(const Case& c) {
    if (!c.has_rope() || c.storage != Storage::dense) return {};
    return like(kKeyRope, "key", c, {c.k.front().batch, c.k.front().tokens, c.kv_heads, c.q_rope.dim});
}

Finding key_rope_of_list(const Case& c) {
    const bool applies = c.is_host() || c.is_prefill_mla();
    if (!c.has_rope() || !c.is_list() || !applies) return {};
    for (const geometry::Extents& member : c.k) {
        if (member.tokens == c.k.front().tokens) continue;
        return violated("key", text("members of one length with keyRope, ", c.k.front().tokens), text(member.tokens));
    }
    const int64_t members = static_cast<int64_t>(c.key->size());
    return like(kKeyRope, "key", c, {members, c.k.front().tokens, c.kv_heads, c.q_rope.dim});
}

Finding key_rope_cache(const Case& c) {
    if (!c.has_rope() || !c.is_paged()) return {};
    const geometry::CacheExtents& e = c.k_rope_cache;
    const bool fits = e.blocks == c.k_cache.blocks && e.block_size == c.k_cache.block_size &&
                      e.heads == c.k_cache.heads && c.extra[kKeyRope]->rank == c.key->front()->rank &&
                      (!c.is_host() || ((c.cache != geometry::CacheOrder::nz || e.chunk == 16) &&
                                        e.dim == c.q_rope.dim));
    if (fits) return {};
    return violated("keyRope",
                    text("a cache ", geometry::axes(c.cache), " of ", c.k_cache.blocks, " blocks of ",
                         c.k_cache.block_size, " tokens and ", c.k_cache.heads, " heads, as key"),
                    shape_text(*c.extra[kKeyRope]));
}

Finding types_like_query(const Case& c) {
    if (!c.has_rope() || !c.is_plain_quant()) return {};
    for (const auto& [rope, name, wanted] : {std::tuple<Input, const char*, aclDataType>{kQueryRope, "query",
                                                                                         c.query->dtype},
                                             {kKeyRope, "key", c.key->front()->dtype}}) {
        const aclDataType dtype = c.extra[rope]->dtype;
        if (dtype == wanted) continue;
        return dtype_refused(kInputNames[rope], text(meta::dtype_name(wanted), ", as ", name), dtype);
    }
    return {};
}

constexpr const char* kRopes = "queryRope, keyRope";

constexpr Rule<Case> kRules[] = {
    {"ROPE-E-01", Tier::consistency, both_or_none, kEverywhere, kRopes, "both ropes are given, or none",
     Known::tensors},
    {"ROPE-X-01", Tier::consistency, query_dim, kProducts, "query",
     "with ropes, query's head dim is 128 or 512; 64 or 128 with modes 6, 6, 8"},
    {"ROPE-X-02", Tier::consistency, query_rope_shape, kEverywhere, "queryRope",
     "queryRope has query's axes but for the head dim"},
    {"ROPE-X-03", Tier::consistency, key_rope_shape, kEverywhere, "keyRope",
     "keyRope has key's axes but for the head dim"},
    {"ROPE-X-04", Tier::consistency, key_rope_cache, kEverywhere, "keyRope",
     "as a cache, keyRope has key's axes, blocks, block size and heads"},
    {"ROPE-X-05", Tier::consistency, key_rope_of_list, kEverywhere, "keyRope",
     "for a list, keyRope has a sequence for each member, with its heads and length"},
    {"ROPE-X-06", Tier::consistency, types_like_query, kEverywhere, kRopes,
     "unless quantised, queryRope has query's type and keyRope key's", Known::tensors},
};

}  // namespace

const Group<Case> kRopeShapeRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
