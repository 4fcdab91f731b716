// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the parser asks of a call step by step, each time before it goes on.
#include "ops/fused_infer_attention_score/parser.h"

#include <string>
#include <tuple>
#include <utility>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

std::string quoted(const char* name) {
    constexpr size_t limit = 24;
    std::string out = "\"";
    for (size_t i = 0; name[i] != '\0'; ++i) {
        if (i == limit) return out + "...\"";
        out += name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    }
    return out + "\"";
}

Finding wrong_rank(const std::string& name, const meta::Tensor& tensor, const Case& c) {
    return violated(name,
                    text(geometry::rank(c.layout->query), " axes ", geometry::axes(c.layout->query), " for layout ",
                         c.layout->name),
                    text("shape ", shape_text(tensor)));
}

Finding indivisible(const std::string& name, const meta::Tensor& tensor, const char* attribute, int64_t heads) {
    return violated(name, text("a last axis that ", attribute, " = ", heads, " divides"),
                    text("shape ", shape_text(tensor)));
}

}  // namespace

// A value that does not fit is a mistake, not a wish.
Finding attributes_fit(const Case& c) {
    const struct {
        const char* name;
        int64_t value;
    } attributes[] = {
        {"numHeads", c.call.num_heads},     {"numKeyValueHeads", c.call.num_key_value_heads},
        {"sparseMode", c.call.sparse_mode}, {"innerPrecise", c.call.inner_precise},
        {"blockSize", c.call.block_size},
    };
    for (const auto& a : attributes) {
        if (a.value != static_cast<int32_t>(a.value)) return violated(a.name, "a 32-bit number", text(a.value));
    }
    return {};
}

Finding lists_have_equal_length(const Case& c) {
    if (c.key->size() == c.value->size()) return {};
    return violated("value", text("a list of ", c.key->size(), " tensors, as many as key"), text(c.value->size()));
}

Finding sizes_are_representable(const Case& c) {
    const auto fits = [](const meta::Tensor* tensor) { return tensor == nullptr || byte_span(*tensor).representable; };
    const auto too_large = [](const std::string& name, const meta::Tensor* tensor) {
        return violated(name, "a tensor whose offsets fit in 62 bits",
                        text("shape ", shape_text(*tensor), " with strides ", strides_text(*tensor)));
    };
    for (const auto& [name, tensor] : {std::pair<const char*, const meta::Tensor*>{"query", c.query},
                                       {"attenMask", c.mask},
                                       {"blockTable", c.block_table},
                                       {"attentionOut", c.out},
                                       {"softmaxLse", c.lse}}) {
        if (!fits(tensor)) return too_large(name, tensor);
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (!fits(c.extra[i])) return too_large(kInputNames[i], c.extra[i]);
    }
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const meta::Tensor* tensor = arg.list->tensors[i].get();
            if (!fits(tensor)) return too_large(text(name, "[", i, "]"), tensor);
        }
    }
    return {};
}

Finding layout_known(const Case& c) {
    if (c.layout != nullptr) return {};
    std::string known;
    for (const geometry::InputLayout& layout : geometry::kInputLayouts) {
        known += text(known.empty() ? "" : ", ", layout.name);
    }
    return violated("inputLayout", text("one of ", known), quoted(c.call.input_layout));
}

Finding cache_rank_known(const Case& c) {
    if (!c.is_paged() || geometry::is_cache_rank(c.key->front()->rank)) return {};
    return violated("key",
                    text("with a blockTable, a cache ", geometry::axes(geometry::CacheOrder::bnbsh), ", ",
                         geometry::axes(geometry::CacheOrder::bnnbsd), " or ",
                         geometry::axes(geometry::CacheOrder::nz)),
                    text("shape ", shape_text(*c.key->front())));
}

Finding heads_positive(const Case& c) {
    if (c.heads > 0) return {};
    return violated("numHeads", "a positive number of query heads", text(c.heads));
}

Finding kv_heads_positive(const Case& c) {
    if (c.kv_heads > 0 || c.call.num_key_value_heads == 0) return {};
    return violated("numKeyValueHeads", "0 (= numHeads) or a positive number of key/value heads", text(c.kv_heads));
}

Finding query_rank_fits(const Case& c) {
    if (c.layout == nullptr || c.query->rank == geometry::rank(c.layout->query)) return {};
    return wrong_rank("query", *c.query, c);
}

Finding query_heads_divide(const Case& c) {
    if (c.layout == nullptr || !c.is_bsh() || c.heads <= 0 || last_axis(*c.query) % c.heads == 0) return {};
    return indivisible("query", *c.query, "numHeads", c.heads);
}

Finding kv_ranks_fit(const Case& c) {
    if (c.layout == nullptr) return {};
    if (c.is_paged()) {
        const meta::Tensor& value = *c.value->front();
        if (value.rank == c.key->front()->rank) return {};
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

Finding batch_known(const Case& c) {
    if (c.layout == nullptr || !c.is_packed() || c.q_lengths != nullptr || c.is_empty || c.call.is_largest) return {};
    return violated("actualSeqLengths",
                    text("with layout ", c.layout->name, ", running totals of the sequences' tokens"), "nothing",
                    c.query->rank == 3 ? text("one sequence: pass {", c.query->shape[c.layout->query ==
                                                                                             geometry::Order::tnd
                                                                                         ? 0
                                                                                         : 1],
                                              "}")
                                       : std::string{});
}

Finding heads_divide(const Case& c) {
    if (c.is_empty || c.kv_heads <= 0 || c.heads % c.kv_heads == 0) return {};
    return violated("numKeyValueHeads", text("a divisor of numHeads = ", c.heads), text(c.kv_heads));
}

Finding block_size_positive(const Case& c) {
    if (c.is_empty || !c.is_paged() || c.call.block_size > 0) return {};
    return violated("blockSize", "with a blockTable, the tokens of a block", text(c.call.block_size));
}

Finding table_rank_fits(const Case& c) {
    if (c.is_empty || !c.is_paged() || c.block_table->rank == 2) return {};
    return violated("blockTable", "2 axes (B, blocks of a sequence)", text("shape ", shape_text(*c.block_table)));
}

// Ropes that do not have the axes of query and key are not read; their shape rules tell.
Finding rope_ranks_fit(const Case& c) {
    for (const auto& [rope, name, model] :
         {std::tuple<Input, const char*, const meta::Tensor*>{kQueryRope, "query", c.query},
          {kKeyRope, "key", c.key->front().get()}}) {
        const meta::Tensor& tensor = *c.extra[rope];
        if (tensor.rank == model->rank) continue;
        return violated(kInputNames[rope], text("as many axes as ", name, ", ", shape_text(*model)),
                        text("shape ", shape_text(tensor)));
    }
    return {};
}

}  // namespace acl_attn::ops::fia
