// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding rope_types(const Case& c) {
    if (!c.has_rope()) return {};
    const aclDataType wanted = c.is_full_quant() ? ACL_BF16 : c.query->dtype;
    for (const Input input : {kQueryRope, kKeyRope}) {
        const aclDataType dtype = c.extra[input]->dtype;
        if (dtype == wanted) continue;
        return violated(kInputNames[input], text("dtype ", meta::dtype_name(wanted)), meta::dtype_name(dtype));
    }
    return {};
}

int64_t key_rope_dim(const Case& c) {
    return c.storage == Storage::paged ? c.k_rope_cache.dim : c.k_rope.dim;
}

Finding rope_dims(const Case& c) {
    constexpr int64_t limit = 64;
    if (!c.has_rope()) return {};
    if (c.q_rope.dim < 1 || c.q_rope.dim > limit) {
        return violated("queryRope", text("a head dim of 1 to ", limit), text(c.q_rope.dim));
    }
    if (key_rope_dim(c) == c.q_rope.dim) return {};
    return violated("keyRope", text("queryRope's head dim ", c.q_rope.dim), text(key_rope_dim(c)));
}

Finding query_rope_shape(const Case& c) {
    if (!c.has_rope()) return {};
    int64_t wanted[4];
    geometry::shape(c.layout->query, {c.q.batch, c.q.tokens, c.heads, c.q_rope.dim}, wanted);
    const int rank = geometry::rank(c.layout->query);
    if (has_shape(*c.extra[kQueryRope], wanted, rank)) return {};
    return violated("queryRope", text("shape ", dims_text(wanted, rank), ", query's but for the head dim"),
                    shape_text(*c.extra[kQueryRope]));
}

// One tensor for all sequences, even where keys are a list.
Finding key_rope_shape(const Case& c) {
    if (!c.has_rope() || c.storage == Storage::paged) return {};
    const int64_t batch = c.storage == Storage::list ? c.batch : c.k.front().batch;
    int64_t wanted[4];
    geometry::shape(c.layout->query, {batch, c.k.front().tokens, c.kv_heads, c.q_rope.dim}, wanted);
    const int rank = geometry::rank(c.layout->query);
    bool fits = has_shape(*c.extra[kKeyRope], wanted, rank);
    for (const geometry::Extents& member : c.k) fits = fits && member.tokens == c.k.front().tokens;
    if (fits) return {};
    return violated("keyRope", text("shape ", dims_text(wanted, rank), ", key's but for the head dim",
                                    c.storage == Storage::list ? ", and members of one length" : ""),
                    shape_text(*c.extra[kKeyRope]));
}

Finding key_rope_cache(const Case& c) {
    if (!c.has_rope() || c.storage != Storage::paged) return {};
    const geometry::CacheExtents& e = c.k_rope_cache;
    const bool fits = e.blocks == c.k_cache.blocks && e.block_size == c.k_cache.block_size &&
                      e.heads == c.k_cache.heads && (c.cache != geometry::CacheOrder::nz || e.chunk == 16);
    if (fits) return {};
    return violated("keyRope",
                    text("a cache ", geometry::axes(c.cache), " of ", c.k_cache.blocks, " blocks of ",
                         c.k_cache.block_size, " tokens and ", c.k_cache.heads, " heads, as key"),
                    shape_text(*c.extra[kKeyRope]));
}

// Decode MLA takes values out of key, so value must look like it, though it is not read.
Finding value_like_key(const Case& c) {
    if (!c.value_is_key() || c.dim_v == c.dim) return {};
    return violated("value", text("key's head dim ", c.dim, " with ropes: values are keys then"), text(c.dim_v));
}

Finding no_antiquant(const Case& c) {
    if (!c.has_rope() || c.quantisation != Quantisation::anti) return {};
    return violated("queryRope", "nothing with keys of another dtype than query",
                    text("shape ", shape_text(*c.extra[kQueryRope])));
}

Finding no_prefix(const Case& c) {
    if (!c.has_rope() || !c.has_prefix()) return {};
    return violated("keySharedPrefix", "nothing with keyRope: a prefix has no rope of its own",
                    text("shape ", shape_text(*c.extra[kKeySharedPrefix])));
}

Finding no_rope_with(const Case& c) {
    if (!c.has_rope()) return {};
    if (c.quantisation != Quantisation::per_tensor && c.quantisation != Quantisation::gqa_f8) return {};
    return violated("queryRope", "nothing with this quantisation",
                    text("shape ", shape_text(*c.extra[kQueryRope])),
                    "decode MLA has queryQuantMode 3 and the other modes 0");
}

constexpr Rule<Case> kRules[] = {
    {"DQF-X-32", Tier::existence, no_rope_with},  // with DQF-X-55
    {"ROPE-X-10", Tier::existence, no_antiquant},
    {"ROPE-X-07", Tier::existence, no_prefix},
    {"ROPE-S-01", Tier::single, rope_types},  // with ROPE-X-06 and DQF-X-05
    {"ROPE-S-02", Tier::single, rope_dims},   // with ROPE-C-01
    {"ROPE-X-02", Tier::consistency, query_rope_shape},
    {"ROPE-X-03", Tier::consistency, key_rope_shape},  // with ROPE-X-05 and COM-C-33
    {"ROPE-X-04", Tier::consistency, key_rope_cache},
    {"COM-C-20", Tier::consistency, value_like_key},
};

}  // namespace

const Group<Case> kRopeRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
