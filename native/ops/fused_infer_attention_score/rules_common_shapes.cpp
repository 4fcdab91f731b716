// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The common parameters: how the shapes of query, key, value and attentionOut belong together.
#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::CacheOrder;
using geometry::Extents;

bool is_plain_storage(const Case& c) { return c.storage == Storage::dense && !c.kv_is_empty; }
bool is_used_list(const Case& c) { return c.is_list() && !c.kv_is_empty; }
// Products leave the last axis of value to itself where head dims differ by design; so does profile host always.
bool may_differ_in_dim(const Case& c) { return c.is_host() || c.rope == Rope::combined || c.is_dim_different(); }

std::string member_name(const char* name, const Case& c, size_t i) {
    return c.is_list() ? text(name, "[", i, "]") : std::string(name) + "[0]";
}

Finding cache_ranks_agree(const Case& c) {
    if (!c.is_paged() || c.key->front()->rank == c.value->front()->rank) return {};
    return violated("value", text(c.key->front()->rank, " axes, as key"),
                    text("shape ", shape_text(*c.value->front())));
}

Finding caches_agree(const Case& c) {
    if (!c.is_paged()) return {};
    const geometry::CacheExtents& k = c.k_cache;
    const geometry::CacheExtents& v = c.v_cache;
    const bool dims = may_differ_in_dim(c) || k.dim == v.dim;
    // Of the other axes profile host asks elsewhere, by blockSize and numKeyValueHeads.
    const bool others = c.is_host() || (k.block_size == v.block_size && k.heads == v.heads);
    if (k.blocks == v.blocks && dims && others) return {};
    return violated("value", text(k.blocks, " blocks, block size, heads and head dim as key, ",
                                  shape_text(*c.key->front())),
                    shape_text(*c.value->front()));
}

// The value cache defines the value head dim, so only key's can be wrong.
Finding cache_dims(const Case& c) {
    if (!c.is_paged() || c.k_cache.dim == c.dim) return {};
    return violated("key", text("a cache of query's head dim ", c.dim, " for ", c.kv_heads, " heads"),
                    text("head dim ", c.k_cache.dim, ", shape ", shape_text(*c.key->front())));
}

Finding nz_chunks(const Case& c) {
    if (!c.is_paged() || !c.is_plain_quant() || c.cache != CacheOrder::nz) return {};
    for (const auto& [name, tensor, dim] : {std::tuple<const char*, const meta::Tensor*, int64_t>{
                                                "key", c.key->front().get(), c.dim},
                                            {"value", c.value->front().get(), c.dim_v}}) {
        if (tensor->shape[4] == 16 && tensor->shape[2] == dim / 16) continue;
        return violated(name, text("a third axis of ", dim / 16, " and a last one of 16 in a cache of 5 axes"),
                        shape_text(*tensor));
    }
    return {};
}

Finding older_nz_dim(const Case& c) {
    if (!c.is_paged() || c.cache != CacheOrder::nz || !c.is_gqa() || is_one_of(c.dim, {64, 128})) return {};
    return violated("query", "a head dim of 64 or 128 with a cache of 5 axes", text(c.dim));
}

Finding list_without_blocks(const Case& c) {
    if (!c.is_list() || c.block_table == nullptr) return {};
    return violated("blockTable", "nothing with a list of several key tensors",
                    text("shape ", shape_text(*c.block_table)), "a paged cache is a list of one tensor");
}

Finding list_not_packed(const Case& c) {
    if (!c.is_list() || !c.is_packed()) return {};
    return violated("inputLayout", "a layout with a batch axis for a list of several key tensors", c.layout->name);
}

// Ropes of all members are one tensor.
Finding list_rope(const Case& c) {
    if (!is_used_list(c) || !c.has_rope() || c.is_packed()) return {};
    const Extents& rope = c.k_rope;
    bool fits = rope.batch == static_cast<int64_t>(c.key->size());
    for (const Extents& member : c.k) fits = fits && member.tokens == rope.tokens;
    if (fits) return {};
    return violated("keyRope",
                    text("a batch axis of ", c.key->size(), ", a row for each key tensor, and members of its length"),
                    text("shape ", shape_text(*c.extra[kKeyRope])));
}

Finding list_members_alike(const Case& c) {
    if (!is_used_list(c)) return {};
    for (const auto& [name, extents, tensors] :
         {std::tuple<const char*, const std::vector<Extents>*, const std::vector<TensorRef>*>{"key", &c.k, c.key},
          {"value", &c.v, c.value}}) {
        for (size_t i = 1; i < extents->size(); ++i) {
            const Extents& first = extents->front();
            if ((*extents)[i].heads == first.heads && (*extents)[i].dim == first.dim) continue;
            return violated(text(name, "[", i, "]"),
                            text("the heads and head dim of ", name, "[0], ", shape_text(*tensors->front())),
                            text("shape ", shape_text(*(*tensors)[i])));
        }
    }
    return {};
}

Finding heads_of(const Case& c, const char* name, const std::vector<Extents>& extents,
                 const std::vector<TensorRef>& tensors) {
    for (size_t i = 0; i < extents.size(); ++i) {
        const bool fits = c.is_bsh() ? tensors[i]->shape[2] % c.kv_heads == 0 : extents[i].heads == c.kv_heads;
        if (fits) continue;
        return violated(member_name(name, c, i),
                        c.is_bsh() ? text("a last axis that numKeyValueHeads = ", c.kv_heads, " divides")
                                   : text("Nkv = ", c.kv_heads, " heads in ", geometry::axes(c.layout->query)),
                        text("shape ", shape_text(*tensors[i])));
    }
    return {};
}

Finding list_heads(const Case& c) {
    if (!is_used_list(c) || c.is_bsh()) return {};
    if (Finding f = heads_of(c, "key", c.k, *c.key)) return f;
    return heads_of(c, "value", c.v, *c.value);
}

Finding list_lengths_agree(const Case& c) {
    if (!is_used_list(c)) return {};
    for (size_t i = 0; i < c.k.size(); ++i) {
        if (c.k[i].tokens == c.v[i].tokens && c.k[i].batch == c.v[i].batch) continue;
        return violated(text("value[", i, "]"), text("the ", c.k[i].tokens, " tokens of key[", i, "]"),
                        text("shape ", shape_text(*(*c.value)[i])));
    }
    return {};
}

// Of one sequence each. The newest software looks at the number of sequences only.
Finding list_batches(const Case& c) {
    if (!c.is_list()) return {};
    const bool looks_at_members = c.is_host() || !c.is_newest();
    const int64_t limit = looks_at_members ? 256 : kMaxBatch;
    if (c.batch > limit) {
        return violated("query", text("at most ", limit, " sequences with tensor lists"), text(c.batch));
    }
    for (size_t i = 0; looks_at_members && !c.kv_is_empty && i < c.k.size(); ++i) {
        if (c.k[i].batch == 1) continue;
        return violated(text("key[", i, "]"), "a batch axis of 1: one tensor a sequence",
                        text("shape ", shape_text(*(*c.key)[i])));
    }
    return {};
}

Finding one_member_a_sequence(const Case& c) {
    if (!c.is_list() || static_cast<int64_t>(c.key->size()) == c.batch) return {};
    return violated("key", text("one tensor, or one for each of the ", c.batch, " sequences of query"),
                    text(c.key->size(), " tensors"));
}

Finding key_dim(const Case& c) {
    for (size_t i = 0; i < c.k.size(); ++i) {
        if (c.k[i].dim == c.dim) continue;
        return violated(member_name("key", c, i), text("query's head dim, D = ", c.dim),
                        text("shape ", shape_text(*(*c.key)[i])));
    }
    return {};
}
Finding list_key_dims(const Case& c) { return is_used_list(c) ? key_dim(c) : Finding{}; }
Finding one_key_dim(const Case& c) { return is_plain_storage(c) ? key_dim(c) : Finding{}; }

Finding out_rank(const Case& c) {
    const bool widens = layout_is(c, {"BSH_BNSD", "BSH_NBSD"});
    if (widens || c.out->rank == c.query->rank) return {};
    return violated("attentionOut", text(c.query->rank, " axes, as query"), text("shape ", shape_text(*c.out)));
}

Finding out_shape(const Case& c) {
    int64_t wanted[4];
    geometry::shape(c.layout->out, {c.q.batch, c.q.tokens, c.is_host() ? c.heads : c.q.heads, c.dim_v}, wanted);
    const int rank = geometry::rank(c.layout->out);
    if (has_shape(*c.out, wanted, rank)) return {};
    // Products do not look at the last axis where value's head dim is another than query's, nor at the batch where
    // axes are re-ordered.
    if (!c.is_host() && c.out->rank == rank) {
        const bool any_dim = c.rope == Rope::combined || c.is_dim_different();
        const bool any_batch = c.layout->query != c.layout->out && !c.is_packed();
        const int batch_axis = c.layout->out == geometry::Order::nbsd ? 1 : 0;
        bool fits = true;
        for (int axis = 0; axis < rank; ++axis) {
            const bool is_free = (axis == rank - 1 && any_dim) || (axis == batch_axis && any_batch);
            fits = fits && (is_free || c.out->shape[axis] == wanted[axis]);
        }
        if (fits) return {};
    }
    return violated("attentionOut",
                    text("shape ", dims_text(wanted, rank), " = ", geometry::axes(c.layout->out), " for layout ",
                         c.layout->name, " and value head dim ", c.dim_v),
                    shape_text(*c.out));
}

Finding value_like_key(const Case& c) {
    if (c.value_is_key() && c.is_host() && c.dim_v != c.dim) {
        return violated("value", text("key's head dim ", c.dim, " with ropes: values are keys then"), text(c.dim_v));
    }
    if (!is_plain_storage(c)) return {};
    const meta::Tensor& key = *c.key->front();
    const meta::Tensor& value = *c.value->front();
    if (value.dtype != key.dtype) {
        return dtype_refused("value[0]", text(meta::dtype_name(key.dtype), ", as key"), value.dtype);
    }
    const Extents& k = c.k.front();
    const Extents& v = c.v.front();
    const bool fits = k.batch == v.batch && k.tokens == v.tokens && k.heads == v.heads &&
                      (may_differ_in_dim(c) || k.dim == v.dim);
    if (fits) return {};
    return violated("value[0]",
                    text("the batch axis, ", k.tokens, " tokens and Nkv = ", k.heads, " heads of key, ",
                         shape_text(key)),
                    text("shape ", shape_text(value)));
}

Finding value_dim(const Case& c) {
    if (!is_plain_storage(c) || c.out->rank != geometry::rank(c.layout->out)) return {};
    const Extents out = geometry::extents(c.layout->out, c.out->shape, c.heads);
    if (out.dim == c.dim_v) return {};
    return violated("value[0]", text("attentionOut's head dim ", out.dim), text("head dim ", c.dim_v));
}

Finding query_heads(const Case& c) {
    if (c.q.heads == c.heads) return {};
    return violated("query", text("numHeads = ", c.heads, " heads in ", geometry::axes(c.layout->query)),
                    text(c.q.heads, ", shape ", shape_text(*c.query)));
}

Finding key_heads(const Case& c) {
    if (c.is_paged() || c.kv_is_empty) return {};
    if (Finding f = heads_of(c, "key", c.k, *c.key)) return f;
    return c.is_bsh() ? heads_of(c, "value", c.v, *c.value) : Finding{};
}

Finding key_batch(const Case& c) {
    if (!is_plain_storage(c) || c.is_packed() || c.k.front().batch == c.batch) return {};
    return violated("key[0]", text("B = ", c.batch, " sequences, as query, in ", geometry::axes(c.layout->query)),
                    text("shape ", shape_text(*c.key->front())));
}

constexpr Rule<Case> kStorage[] = {
    {"COM-C-26", Tier::consistency, cache_ranks_agree, kEverywhere, "key, value", "both caches have as many axes",
     Known::tensors},
    {"COM-C-27", Tier::consistency, caches_agree, kEverywhere, "key, value",
     "both caches have the same blocks, heads, block size and head dim; the last may differ for a combined rope"},
    {"COM-C-28", Tier::consistency, cache_dims, kEverywhere, "key", "the key cache has query's head dim"},
    {"COM-C-29", Tier::consistency, nz_chunks, kProducts, "key, value",
     "caches of 5 axes that are not quantised have D/16 as third and 16 as last axis"},
    {"COM-C-30", Tier::consistency, older_nz_dim, kOlder, "query",
     "with a cache of 5 axes and no ropes, the head dim is 64 or 128"},
    {"COM-C-31", Tier::consistency, list_without_blocks, kEverywhere, "blockTable",
     "tensor lists have no blockTable"},
    {"COM-C-32", Tier::consistency, list_not_packed, kEverywhere, "inputLayout",
     "tensor lists have a layout with a batch axis"},
    {"COM-C-02", Tier::consistency, list_batches, kEverywhere, "key, query",
     "every member of a list is one sequence, and there are at most 256 of them; newest software: 65536, members not "
     "looked at"},
    {"COM-C-33", Tier::consistency, list_rope, kProducts, "keyRope",
     "keyRope has as many sequences as lists have members, and the length of each"},
    {"COM-C-34", Tier::consistency, list_members_alike, kEverywhere, "key, value",
     "members of a list have the same heads and head dim"},
    {"COM-C-35", Tier::consistency, list_heads, kEverywhere, "key, value",
     "members of a list have numKeyValueHeads heads"},
    {"COM-C-36", Tier::consistency, list_lengths_agree, kEverywhere, "value",
     "a member of value is as long as that of key"},
    {"COM-C-37", Tier::consistency, one_member_a_sequence, kEverywhere, "key",
     "lists have a member for each sequence of query"},
    {"COM-C-38", Tier::consistency, list_key_dims, kEverywhere, "key", "members of key have query's head dim"},
};

constexpr Rule<Case> kShapes[] = {
    {"COM-C-18", Tier::consistency, out_rank, kProducts, "attentionOut",
     "attentionOut has as many axes as query, except where the layout splits an axis"},
    {"COM-C-19", Tier::consistency, out_shape, kEverywhere, "attentionOut",
     "attentionOut has query's axes in the order of the output layout, with value's head dim"},
    {"COM-C-20", Tier::consistency, value_like_key, kEverywhere, "value",
     "value has key's type and axes; the head dim may differ where it does so by design", Known::dims, kTypeStatus},
    {"COM-C-21", Tier::consistency, value_dim, kProducts, "value, attentionOut", "attentionOut has value's head dim"},
    {"COM-C-03", Tier::consistency, query_heads, kEverywhere, "query, numHeads", "query has numHeads heads"},
    {"COM-C-05", Tier::consistency, key_heads, kEverywhere, "key, numKeyValueHeads",
     "key has numKeyValueHeads heads; in layouts that begin with BSH they divide its last axis"},
    {"COM-C-23", Tier::consistency, key_batch, kEverywhere, "key", "key has as many sequences as query"},
    {"COM-C-24", Tier::consistency, one_key_dim, kEverywhere, "key", "key has query's head dim"},
};

}  // namespace

const Group<Case> kCommonStorageRules{kStorage, std::size(kStorage)};
const Group<Case> kCommonShapeRules{kShapes, std::size(kShapes)};

}  // namespace acl_attn::ops::fia
