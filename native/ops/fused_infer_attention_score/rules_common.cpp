// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding inner_precise_known(const Case& c) {
    if (c.call.inner_precise >= 0 && c.call.inner_precise <= 3) return {};
    return violated("innerPrecise", "0, 1, 2 or 3", text(c.call.inner_precise));
}

// COM-S-17 lets a scale be any number: these are none, and what they would make of the output says nothing of where they
// came from.
Finding scale_is_number(const Case& c) {
    if (std::isfinite(static_cast<float>(c.call.scale_value))) return {};
    char got[32];
    std::snprintf(got, sizeof got, "%g", c.call.scale_value);
    return violated("scaleValue", "a finite 32-bit float", got, "1 / sqrt(head dim) is usual");
}

// With one it has to be positive: PA-S-04.
Finding no_negative_block_size(const Case& c) {
    if (c.storage == Storage::paged || c.call.block_size >= 0) return {};
    return violated("blockSize", "0 without a blockTable", text(c.call.block_size));
}

Finding batch_in_range(const Case& c) {
    if (c.batch >= 1 && c.batch <= 65536) return {};
    return violated(c.is_packed() ? "actualSeqLengths" : "query", "1 to 65536 sequences", text(c.batch));
}

Finding dims_in_range(const Case& c) {
    constexpr int64_t limit = 512;
    if (c.dim < 1 || c.dim > limit) return violated("query", text("a head dim of 1 to ", limit), text(c.dim));
    if (c.dim_v < 1 || c.dim_v > limit) return violated("value", text("a head dim of 1 to ", limit), text(c.dim_v));
    return {};
}

Finding out_shape(const Case& c) {
    int64_t wanted[4];
    geometry::shape(c.layout->out, {c.q.batch, c.q.tokens, c.heads, c.dim_v}, wanted);
    const int rank = geometry::rank(c.layout->out);
    if (has_shape(*c.out, wanted, rank)) return {};
    return violated("attentionOut",
                    text("shape ", dims_text(wanted, rank), " = ", geometry::axes(c.layout->out), " for layout ",
                         c.layout->name, " and value head dim ", c.dim_v),
                    shape_text(*c.out));
}

// One member of key or value against what query and key say about it. `wanted.tokens` < 0: free.
Finding member(const Case& c, const char* name, size_t i, const meta::Tensor& tensor, const geometry::Extents& got,
               const geometry::Extents& wanted) {
    if (got.batch == wanted.batch && got.heads == wanted.heads && got.dim == wanted.dim &&
        (wanted.tokens < 0 || got.tokens == wanted.tokens)) {
        return {};
    }
    const std::string batch = c.is_packed() ? std::string{} : text("B = ", wanted.batch, ", ");
    const std::string tokens = wanted.tokens < 0 ? std::string{} : text(", and the ", wanted.tokens, " tokens of key");
    return violated(text(name, "[", i, "]"),
                    text(batch, "Nkv = ", wanted.heads, ", D = ", wanted.dim, tokens, " in ",
                         geometry::axes(c.layout->query)),
                    text("shape ", shape_text(tensor)));
}

// Key and value without elements are not looked at further (COM-E-04).
Finding key_shapes(const Case& c) {
    if (c.storage == Storage::paged || c.kv_is_empty) return {};
    const int64_t batch = c.storage == Storage::list || c.is_packed() ? 1 : c.batch;
    for (size_t i = 0; i < c.k.size(); ++i) {
        const geometry::Extents wanted{batch, -1, c.kv_heads, c.dim};
        if (Finding f = member(c, "key", i, *(*c.key)[i], c.k[i], wanted)) return f;
    }
    return {};
}

Finding value_shapes(const Case& c) {
    if (c.storage == Storage::paged || c.kv_is_empty) return {};
    for (size_t i = 0; i < c.v.size(); ++i) {
        const geometry::Extents wanted{c.k[i].batch, c.k[i].tokens, c.kv_heads, c.dim_v};
        if (Finding f = member(c, "value", i, *(*c.value)[i], c.v[i], wanted)) return f;
    }
    return {};
}

// The value cache defines the value head dim, so only key's can be wrong.
Finding cache_dims(const Case& c) {
    if (c.storage != Storage::paged || c.k_cache.dim == c.dim) return {};
    return violated("key", text("a cache of query's head dim ", c.dim, " for ", c.kv_heads, " heads"),
                    text("head dim ", c.k_cache.dim, ", shape ", shape_text(*c.key->front())));
}

Finding list_without_blocks(const Case& c) {
    if (c.storage != Storage::list || c.block_table == nullptr) return {};
    return violated("blockTable", "nothing with a list of several key tensors",
                    text("shape ", shape_text(*c.block_table)), "a paged cache is a list of one tensor");
}

Finding list_not_packed(const Case& c) {
    if (c.storage != Storage::list || !c.is_packed()) return {};
    return violated("inputLayout", "a layout with a batch axis for a list of several key tensors", c.layout->name);
}

constexpr Rule<Case> kRules[] = {
    {"COM-S-13", Tier::single, inner_precise_known},
    {"HOST-S-03", Tier::single, scale_is_number},
    {"HOST-S-04", Tier::single, no_negative_block_size},
    {"COM-C-31", Tier::consistency, list_without_blocks},
    {"COM-C-32", Tier::consistency, list_not_packed},
    {"COM-C-28", Tier::consistency, cache_dims},
    {"COM-C-24", Tier::consistency, key_shapes},    // with 05, 23, 34, 35, 38
    {"COM-C-20", Tier::consistency, value_shapes},  // with 34, 35, 36
    {"COM-C-01", Tier::consistency, batch_in_range},
    {"COM-C-06", Tier::consistency, dims_in_range},
    {"COM-C-19", Tier::consistency, out_shape},
};

}  // namespace

const Group<Case> kCommonRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
