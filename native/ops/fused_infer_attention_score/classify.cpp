// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "ops/fused_infer_attention_score/steps.h"
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
    for (size_t i = 0; i < kInputCount; ++i) {
        if (i != kQuery && i != kAttenMask && i != kBlockTable) c.extra[i] = given(c.call, static_cast<Input>(i));
    }
    // A table with two axes is meant as a table even if one of them is empty; the paging rules refuse that.
    const meta::Tensor* table = c.call.tensors[kBlockTable].tensor.get();
    if (table != nullptr && (!table->is_empty() || table->rank == 2)) c.block_table = table;
    return {};
}

// The operator looks at the low 32 bits of these only; a value that does not fit is a mistake, not a wish.
Finding attributes_fit(Case& c) {
    const struct {
        const char* name;
        int64_t value;
    } attributes[] = {
        {"numHeads", c.call.num_heads},     {"numKeyValueHeads", c.call.num_key_value_heads},
        {"sparseMode", c.call.sparse_mode}, {"innerPrecise", c.call.inner_precise},
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
    for (const auto& [name, arg] : lists(c.call)) {
        if (arg.list->tensors.empty()) return violated(name, "a list of at least one tensor", "an empty list");
    }
    return {};
}

Finding lists_have_equal_length(Case& c) {
    if (c.key->size() == c.value->size()) return {};
    return violated("value", text("a list of ", c.key->size(), " tensors, as many as key"), text(c.value->size()));
}

Finding sizes_are_representable(Case& c) {
    const auto check = [](const std::string& name, const meta::Tensor* tensor) -> Finding {
        if (tensor == nullptr || byte_span(*tensor).representable) return {};
        return violated(name, "a tensor whose offsets fit in 62 bits",
                        text("shape ", shape_text(*tensor), " with strides ", strides_text(*tensor)));
    };
    for (const auto& [name, tensor] : {std::pair<const char*, const meta::Tensor*>{"query", c.query},
                                       {"attenMask", c.mask},
                                       {"blockTable", c.block_table},
                                       {"attentionOut", c.out},
                                       {"softmaxLse", c.lse}}) {
        if (Finding f = check(name, tensor)) return f;
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (Finding f = check(kInputNames[i], c.extra[i])) return f;
    }
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            if (Finding f = check(text(name, "[", i, "]"), arg.list->tensors[i].get())) return f;
        }
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

Finding find_quantisation(Case& c) {
    const aclDataType query = c.query->dtype;
    const auto modes = [&](int64_t q, int64_t k, int64_t v) {
        return c.call.query_quant_mode == q && c.call.key_antiquant_mode == k && c.call.value_antiquant_mode == v;
    };
    if (query != c.key->front()->dtype) {
        c.quantisation = Quantisation::anti;
    } else if (query == ACL_FLOAT16 || query == ACL_BF16) {
        c.quantisation = Quantisation::none;
    } else if (modes(6, 6, 8)) {
        c.quantisation = Quantisation::mx_f8;
    } else if (modes(3, 3, 2)) {
        c.quantisation = Quantisation::gqa_f8;
    } else {
        c.quantisation = c.has_rope() && modes(3, 0, 0) ? Quantisation::mla : Quantisation::per_tensor;
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
    // No row sees a key then, whatever else was given (COM-E-04).
    if (c.kv_is_empty) std::fill(std::begin(c.extra), std::end(c.extra), nullptr);
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
        return violated(
            "key",
            text("with a blockTable, a cache ", geometry::axes(geometry::CacheOrder::bnbsh), ", ",
                 geometry::axes(geometry::CacheOrder::bnnbsd), " or ", geometry::axes(geometry::CacheOrder::nz)),
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
    return violated("softmaxLse", "elements, as softmaxLseFlag is true", text("shape ", shape_text(*c.lse)));
}

constexpr Step kSteps[] = {
    {"", collect},
    {"HOST-S-01", attributes_fit},
    {"COM-S-16", lists_hold_tensors},
    {"COM-C-39", lists_have_equal_length},
    {"HOST-S-02", sizes_are_representable},
    {"", find_storage},
    {"", find_quantisation},
    {"", find_emptiness},
    {"COM-S-03", find_layout},
    {"COM-X-05", cache_rank},
    {"COM-E-02", empty_together},
    {"LSE-E-02", lse_has_elements},
};

}  // namespace

Finding classify(Case& subject) {
    if (Finding finding = take(kSteps, subject)) return finding;
    if (Finding finding = find_dimensions(subject)) return finding;
    return find_features(subject);
}

}  // namespace acl_attn::ops::fia
