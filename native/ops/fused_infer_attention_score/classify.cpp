// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps in the order of the operator's own parser, so that a call with several defects is refused for the same one.
#include <algorithm>
#include <string>
#include <utility>

#include "ops/fused_infer_attention_score/case.h"
#include "ops/rule.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding collect(Case& c) {
    c.query = c.call.tensors[kQuery].tensor.get();
    c.key = &c.call.key.list->tensors;
    c.value = &c.call.value.list->tensors;
    c.mask = given(c.call, kAttenMask);
    c.q_lengths = given_ints(c.call, kActualSeqLengths);
    c.kv_lengths = given_ints(c.call, kActualSeqLengthsKv);
    c.out = c.call.outputs[kAttentionOut].tensor.get();
    c.lse = c.call.outputs[kSoftmaxLse].tensor.get();
    // A table with two axes is meant as a table even if one of them is empty; the paging rules refuse that.
    const meta::Tensor* table = c.call.tensors[kBlockTable].tensor.get();
    if (table != nullptr && (!table->is_empty() || table->rank == 2)) c.block_table = table;
    return {};
}

// The operator looks at the low 32 bits of these only; a value that does not fit is a mistake, not a wish.
Finding attributes_fit(Case& c) {
    const struct { const char* name; int64_t value; } attributes[] = {
        {"numHeads", c.call.num_heads},       {"numKeyValueHeads", c.call.num_key_value_heads},
        {"sparseMode", c.call.sparse_mode},   {"innerPrecise", c.call.inner_precise},
        {"blockSize", c.call.block_size},
    };
    for (const auto& a : attributes) {
        if (a.value != static_cast<int32_t>(a.value)) {
            return violated(a.name, "a 32-bit number", text(a.value));
        }
    }
    return {};
}

Finding lists_hold_tensors(Case& c) {
    for (const char* name : {"key", "value"}) {
        if ((name[0] == 'k' ? c.key : c.value)->empty()) {
            return violated(name, "a list of at least one tensor", "an empty list");
        }
    }
    return {};
}

Finding lists_have_equal_length(Case& c) {
    if (c.key->size() == c.value->size()) return {};
    return violated("value", text("a list of ", c.key->size(), " tensors, as many as key"),
                  text(c.value->size()));
}

Finding sizes_are_representable(Case& c) {
    const auto check = [](const std::string& name, const meta::Tensor* tensor) -> Finding {
        if (tensor == nullptr || byte_span(*tensor).representable) return {};
        return violated(name, "a tensor whose offsets fit in 62 bits",
                        text("shape ", shape_text(*tensor), " with strides ", strides_text(*tensor)));
    };
    for (const auto& [name, tensor] : {std::pair<const char*, const meta::Tensor*>{"query", c.query},
                                       {"attenMask", c.mask}, {"blockTable", c.block_table},
                                       {"attentionOut", c.out}, {"softmaxLse", c.lse}}) {
        if (Finding f = check(name, tensor)) return f;
    }
    for (size_t i = 0; i < c.key->size(); ++i) {
        if (Finding f = check(text("key[", i, "]"), (*c.key)[i].get())) return f;
        if (Finding f = check(text("value[", i, "]"), (*c.value)[i].get())) return f;
    }
    return {};
}

Finding find_storage(Case& c) {
    if (c.key->size() > 1) {
        c.storage = Storage::list;
    } else {
        c.storage = c.block_table != nullptr ? Storage::paged : Storage::dense;
    }
    return {};
}

std::string quoted(const char* name) {
    constexpr size_t limit = 24;
    std::string out = "\"";
    for (size_t i = 0; name[i] != '\0'; ++i) {
        if (i == limit) return out + "...\"";
        out += name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    }
    return out + "\"";
}

Finding find_emptiness(Case& c) {
    c.is_empty = c.query->is_empty();
    const auto all_empty = [](const std::vector<TensorRef>& members) {
        return std::all_of(members.begin(), members.end(), [](const TensorRef& t) { return t->is_empty(); });
    };
    c.kv_is_empty = all_empty(*c.key) && all_empty(*c.value);
    return {};
}

Finding find_layout(Case& c) {
    const char* name = c.call.input_layout != nullptr ? c.call.input_layout : "BSH";
    c.layout = geometry::find_layout(name);
    if (c.layout != nullptr) return {};
    std::string known;
    for (const geometry::InputLayout& layout : geometry::kInputLayouts) {
        known += text(known.empty() ? "" : ", ", layout.name);
    }
    return violated("inputLayout", text("one of ", known), quoted(name));
}

Finding cache_rank(Case& c) {
    if (c.storage != Storage::paged) return {};
    const int rank = c.key->front()->rank;
    if (!geometry::is_cache_rank(rank)) {
        return violated("key",
                      text("with a blockTable, a cache ", geometry::axes(geometry::CacheOrder::bnbsh), ", ",
                           geometry::axes(geometry::CacheOrder::bnnbsd), " or ",
                           geometry::axes(geometry::CacheOrder::nz)),
                      text("shape ", shape_text(*c.key->front())));
    }
    c.cache = static_cast<geometry::CacheOrder>(rank);
    return {};
}

Finding empty_together(Case& c) {
    if (c.is_empty == c.out->is_empty()) return {};
    return violated("attentionOut", c.is_empty ? "no elements, as query has none" : "elements, as query has some",
                  text("shape ", shape_text(*c.out), " for query ", shape_text(*c.query)));
}

Finding lse_has_elements(Case& c) {
    if (c.lse == nullptr || c.is_empty || !c.lse->is_empty()) return {};
    return violated("softmaxLse", "elements, as softmaxLseFlag is true",
                  text("shape ", shape_text(*c.lse)));
}

Finding head_count(Case& c) {
    c.heads = c.call.num_heads;
    if (c.heads > 0) return {};
    return violated("numHeads", "a positive number of query heads", text(c.heads));
}

Finding kv_head_count(Case& c) {
    c.kv_heads = c.call.num_key_value_heads == 0 ? c.heads : c.call.num_key_value_heads;
    if (c.kv_heads > 0) return {};
    return violated("numKeyValueHeads", "0 (= numHeads) or a positive number of key/value heads",
                  text(c.kv_heads));
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
    for (size_t i = 0; i < c.key->size(); ++i) {
        const meta::Tensor& key = *(*c.key)[i];
        const meta::Tensor& value = *(*c.value)[i];
        if (key.rank != geometry::rank(c.layout->query)) return wrong_rank(text("key[", i, "]"), key, c);
        if (value.rank != geometry::rank(c.layout->query)) return wrong_rank(text("value[", i, "]"), value, c);
    }
    return {};
}

Finding kv_dim(Case& c) {
    const bool fused = c.storage == Storage::paged ? c.cache == geometry::CacheOrder::bnbsh
                                                   : c.layout->query == geometry::Order::bsh;
    for (size_t i = 0; fused && i < c.key->size(); ++i) {
        const meta::Tensor& key = *(*c.key)[i];
        const meta::Tensor& value = *(*c.value)[i];
        if (key.shape[2] % c.kv_heads != 0) {
            return indivisible(text("key[", i, "]"), key, "numKeyValueHeads", c.kv_heads);
        }
        if (value.shape[2] % c.kv_heads != 0) {
            return indivisible(text("value[", i, "]"), value, "numKeyValueHeads", c.kv_heads);
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

struct Step {
    const char* id;
    Finding (*take)(Case&);
};

constexpr Step kSteps[] = {
    {"", collect},
    {"HOST-S-01", attributes_fit},
    {"COM-S-16", lists_hold_tensors},
    {"COM-C-39", lists_have_equal_length},
    {"HOST-S-02", sizes_are_representable},
    {"", find_storage},
    {"", find_emptiness},
    {"COM-S-03", find_layout},
    {"COM-X-05", cache_rank},
    {"COM-E-02", empty_together},
    {"LSE-E-02", lse_has_elements},
    {"COM-S-01", head_count},
    {"COM-S-02", kv_head_count},
    {"COM-S-14", query_rank},
    {"COM-C-04", query_dim},
    {"COM-S-15", kv_rank},
    {"COM-C-05", kv_dim},
    {"ASL-E-01", batch_size},
    {"COM-C-37", one_member_a_sequence},  // early: what follows pairs sequences with members
    {"COM-C-03", query_heads},            // early: it is the cause of what other shapes would be blamed for
    {"COM-C-13", heads_divide},
    {"PA-S-04", block_size},
};

}  // namespace

Finding classify(Case& subject) {
    for (const Step& step : kSteps) {
        if (Finding finding = step.take(subject)) return named(std::move(finding), step.id);
    }
    return {};
}

void read_lengths(Case& c) {
    const auto running = [](const std::vector<int64_t>& totals, int64_t b) {
        const int64_t start = b == 0 ? 0 : totals[b - 1];
        return Tokens{start, totals[b] - start};
    };
    const auto plain = [](const std::vector<int64_t>& lengths, int64_t b) {
        return Tokens{0, lengths.size() == 1 ? lengths[0] : lengths[b]};
    };
    c.q_tokens.reserve(c.batch);
    c.kv_tokens.reserve(c.batch);
    for (int64_t b = 0; b < c.batch; ++b) {
        const Tokens q = c.is_packed()            ? running(*c.q_lengths, b)
                         : c.q_lengths != nullptr ? plain(*c.q_lengths, b)
                                                  : Tokens{0, c.q.tokens};
        const Tokens kv = c.packs_kv()              ? running(*c.kv_lengths, b)
                          : c.kv_lengths != nullptr ? plain(*c.kv_lengths, b)
                                                    : Tokens{0, c.k[c.storage == Storage::list ? b : 0].tokens};
        c.q_tokens.push_back(q);
        c.kv_tokens.push_back(kv);
        c.longest_q = q.count > c.longest_q ? q.count : c.longest_q;
        c.longest_kv = kv.count > c.longest_kv ? kv.count : c.longest_kv;
    }
}

}  // namespace acl_attn::ops::fia
