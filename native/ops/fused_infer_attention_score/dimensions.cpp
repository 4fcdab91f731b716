// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/fused_infer_attention_score/largest.h"
#include "ops/fused_infer_attention_score/steps.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding head_count(Case& c) {
    c.heads = c.call.num_heads;
    if (c.heads > 0) return {};
    return violated("numHeads", "a positive number of query heads", text(c.heads));
}

Finding kv_head_count(Case& c) {
    c.kv_heads = c.call.num_key_value_heads == 0 ? c.heads : c.call.num_key_value_heads;
    if (c.kv_heads > 0) return {};
    return violated("numKeyValueHeads", "0 (= numHeads) or a positive number of key/value heads", text(c.kv_heads));
}

Finding wrong_rank(const std::string& name, const meta::Tensor& tensor, const Case& c) {
    return violated(name,
                    text(geometry::rank(c.layout->query), " axes ", geometry::axes(c.layout->query), " for layout ",
                         c.layout->name),
                    text("shape ", shape_text(tensor)));
}

Finding query_rank(Case& c) {
    if (c.query->rank != geometry::rank(c.layout->query)) return wrong_rank("query", *c.query, c);
    return {};
}

Finding indivisible(const std::string& name, const meta::Tensor& tensor, const char* attribute, int64_t heads) {
    return violated(name, text("a last axis that ", attribute, " = ", heads, " divides"),
                    text("shape ", shape_text(tensor)));
}

Finding query_dim(Case& c) {
    if (c.layout->query == geometry::Order::bsh && c.query->shape[2] % c.heads != 0) {
        return indivisible("query", *c.query, "numHeads", c.heads);
    }
    c.q = geometry::extents(c.layout->query, c.query->shape, c.heads);
    c.dim = c.q.dim;
    return {};
}

Finding query_heads(Case& c) {
    if (c.is_empty || c.q.heads == c.heads) return {};
    return violated("query", text("numHeads = ", c.heads, " heads in ", geometry::axes(c.layout->query)),
                    text(c.q.heads, ", shape ", shape_text(*c.query)));
}

Finding kv_rank(Case& c) {
    if (c.storage == Storage::paged) {
        const meta::Tensor& value = *c.value->front();
        if (value.rank == static_cast<int>(c.cache)) return {};
        return violated("value", text("the axes of key, ", shape_text(*c.key->front())),
                        text("shape ", shape_text(value)));
    }
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const meta::Tensor& tensor = *arg.list->tensors[i];
            if (tensor.rank != geometry::rank(c.layout->query)) return wrong_rank(text(name, "[", i, "]"), tensor, c);
        }
    }
    return {};
}

Finding kv_dim(Case& c) {
    const bool fused =
        c.storage == Storage::paged ? c.cache == geometry::CacheOrder::bnbsh : c.layout->query == geometry::Order::bsh;
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; fused && i < arg.list->tensors.size(); ++i) {
            const meta::Tensor& tensor = *arg.list->tensors[i];
            if (tensor.shape[2] % c.kv_heads == 0) continue;
            return indivisible(text(name, "[", i, "]"), tensor, "numKeyValueHeads", c.kv_heads);
        }
    }
    if (c.storage == Storage::paged) {
        c.k_cache = geometry::cache_extents(c.cache, c.key->front()->shape, c.kv_heads);
        c.v_cache = geometry::cache_extents(c.cache, c.value->front()->shape, c.kv_heads);
        c.dim_v = c.v_cache.dim;
        return {};
    }
    for (size_t i = 0; i < c.key->size(); ++i) {
        c.k.push_back(geometry::extents(c.layout->query, (*c.key)[i]->shape, c.kv_heads));
        c.v.push_back(geometry::extents(c.layout->query, (*c.value)[i]->shape, c.kv_heads));
        if (c.kv_is_empty) c.k.back().tokens = c.v.back().tokens = 0;  // even if another axis is the empty one
    }
    c.dim_v = c.v.front().dim;
    return {};
}

Finding lengths_without_values(Case& c) {
    if (c.call.is_largest && !c.is_empty) assume_largest(c);
    return {};
}

Finding batch_size(Case& c) {
    if (!c.is_packed()) {
        c.batch = c.q.batch;
        return {};
    }
    if (c.q_lengths == nullptr) {
        if (c.is_empty) return {};
        return violated("actualSeqLengths",
                        text("with layout ", c.layout->name, ", running totals of the sequences' tokens"), "nothing",
                        text("one sequence: pass {", c.q.tokens, "}"));
    }
    c.batch = static_cast<int64_t>(c.q_lengths->size());
    return {};
}

Finding one_member_a_sequence(Case& c) {
    if (c.is_empty || c.storage != Storage::list || static_cast<int64_t>(c.key->size()) == c.batch) return {};
    return violated("key", text("one tensor, or one for each of the ", c.batch, " sequences of query"),
                    text(c.key->size(), " tensors"));
}

Finding heads_divide(Case& c) {
    if (c.is_empty || c.heads % c.kv_heads == 0) return {};
    return violated("numKeyValueHeads", text("a divisor of numHeads = ", c.heads), text(c.kv_heads));
}

Finding block_size(Case& c) {
    if (c.is_empty || c.storage != Storage::paged || c.call.block_size > 0) return {};
    return violated("blockSize", "with a blockTable, the tokens of a block", text(c.call.block_size));
}

constexpr Step kSteps[] = {
    {"COM-S-01", head_count},
    {"COM-S-02", kv_head_count},
    {"COM-S-14", query_rank},
    {"COM-C-04", query_dim},
    {"COM-S-15", kv_rank},
    {"COM-C-05", kv_dim},
    {"", lengths_without_values},
    {"ASL-E-01", batch_size},
    {"COM-C-37", one_member_a_sequence},  // early: what follows pairs sequences with members
    {"COM-C-03", query_heads},            // early: it is the cause of what other shapes would be blamed for
    {"COM-C-13", heads_divide},
    {"PA-S-04", block_size},
};

}  // namespace

Finding find_dimensions(Case& subject) { return take(kSteps, subject); }

}  // namespace acl_attn::ops::fia
