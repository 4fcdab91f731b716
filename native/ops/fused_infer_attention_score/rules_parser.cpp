// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The parser's rules, in its order. Tier::features is what it looks at only in calls that have elements.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/parser.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding positive_strides(const std::string& name, const meta::Tensor* tensor) {
    for (int axis = 0; tensor != nullptr && !tensor->is_empty() && axis < tensor->rank; ++axis) {
        if (tensor->shape[axis] > 1 && tensor->stride[axis] <= 0) {
            return violated(name, "positive strides", strides_text(*tensor), "pass a contiguous copy");
        }
    }
    return {};
}

Finding strides_positive(const Case& c) {
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const meta::Tensor* tensor = arg.list->tensors[i].get();
            if (!positive_strides({}, tensor)) continue;
            const bool is_alone = arg.list->tensors.size() == 1;
            return positive_strides(is_alone ? std::string(name) : text(name, "[", i, "]"), tensor);
        }
    }
    for (const Input input : {kKeyRope, kKeyAntiquantScale, kValueAntiquantScale}) {
        if (positive_strides({}, c.extra[input])) return positive_strides(kInputNames[input], c.extra[input]);
    }
    return {};
}

Finding lists_hold_tensors(const Case& c) {
    for (const auto& [name, arg] : lists(c.call)) {
        if (arg.list != nullptr && arg.list->tensors.empty()) {
            return violated(name, "a list of at least one tensor", "an empty list");
        }
    }
    return {};
}

// For the mixed modes the value side carries what is told token by token.
Finding scale_rank(const Case& c) {
    if (!c.is_anti() || c.kv_is_empty) return {};
    const int64_t key = c.call.key_antiquant_mode;
    const int64_t value = c.call.value_antiquant_mode;
    const bool is_integer = is_one_of(c.key->front()->dtype, {ACL_INT8, ACL_INT4});
    const bool is_mixed = key == 0 && value == 1 && is_integer;
    const bool is_token = key == 1 && value == 1;
    const bool is_token_head = key == 3 && value == 3;
    if (!is_mixed && !is_token && !is_token_head) return {};
    const Input scale = is_mixed ? kValueAntiquantScale : kKeyAntiquantScale;
    const Input offset = is_mixed ? kValueAntiquantOffset : kKeyAntiquantOffset;
    const Input looked_at = c.extra[offset] != nullptr ? offset : scale;
    const meta::Tensor* tensor = c.extra[looked_at];
    if (tensor == nullptr || tensor->rank == 3 || (tensor->rank == 2 && !is_token_head)) return {};
    return violated(kInputNames[looked_at],
                    text(is_token_head ? "3 axes" : "2 or 3 axes", " for keyAntiquantMode ", key,
                         " and valueAntiquantMode ", value),
                    text("shape ", shape_text(*tensor)));
}

Finding empty_together(const Case& c) {
    if (c.is_empty == c.out->is_empty()) return {};
    return violated("attentionOut", c.is_empty ? "no elements, as query has none" : "elements, as query has some",
                    text("shape ", shape_text(*c.out), " for query ", shape_text(*c.query)));
}

Finding lse_has_elements(const Case& c) {
    if (c.lse == nullptr || c.is_empty || !c.lse->is_empty()) return {};
    return violated("softmaxLse", "elements, as softmaxLseFlag is true", text("shape ", shape_text(*c.lse)));
}

Finding rope_ranks(const Case& c) { return c.has_rope() ? rope_ranks_fit(c) : Finding{}; }

Finding rope_dims_agree(const Case& c) {
    if (!c.has_rope() || rope_ranks_fit(c)) return {};
    const int64_t q = c.q_rope.dim;
    const int64_t k = c.is_paged() ? c.k_rope_cache.dim : c.k_rope.dim;
    if (q == k) return {};
    return violated("keyRope", text("queryRope's head dim ", q), text(k));
}

Finding value_not_wider(const Case& c) {
    if (c.dim_v > c.dim) return violated("value", text("a head dim of at most query's ", c.dim), text(c.dim_v));
    if (c.dim == c.dim_v || !c.has_rope()) return {};
    return violated("value", text("query's head dim ", c.dim, " with ropes of their own"), text(c.dim_v));
}

Finding no_tree(const Case& c) {
    if (!c.is_tree() || c.mask == nullptr) return {};
    return violated("sparseMode", "0 to 4 with attenMask", "9");
}

Finding one_prefix_length(const Case& c) {
    const std::vector<int64_t>* length = given_ints(c.call, kActualSharedPrefixLen);
    if (length == nullptr || length->size() == 1) return {};
    return violated("actualSharedPrefixLen", "one entry", text(length->size()));
}

Finding pse_type_known(const Case& c) {
    if (c.call.pse_type == 0) return {};
    if (!c.is_host() && c.is_newest()) {
        return violated("pseType", "0", text(c.call.pse_type), "the newest software has no slopes any more");
    }
    if (c.has_slopes()) return {};
    return violated("pseType", "0 (pseShift is added), 2 or 3 (pseShift holds slopes)", text(c.call.pse_type));
}

Finding not_per_block(const Case& c) {
    if (!c.is_full_quant() || !c.has_modes(7, 7, 7)) return {};
    return violated("queryQuantMode", "a scheme other than blocks of tokens (modes 7, 7, 7)", "7");
}

constexpr Rule<Case> kRules[] = {
    {"PA-C-06", Tier::parser, strides_positive, and_host(newest_only(kProducts)),
     "key, value, keyRope, keyAntiquantScale, valueAntiquantScale", "axes longer than 1 have positive strides",
     Known::tensors},
    {"HOST-S-01", Tier::parser, attributes_fit, kEverywhere,
     "numHeads, numKeyValueHeads, sparseMode, innerPrecise, blockSize",
     "attributes of which products read the low 32 bits fit in them", Known::nothing},
    {"COM-S-16", Tier::parser, lists_hold_tensors, kEverywhere, "key, value", "both lists hold at least one tensor",
     Known::nothing},
    {"COM-C-39", Tier::parser, lists_have_equal_length, kEverywhere, "key, value", "both lists are equally long",
     Known::tensors},
    {"HOST-S-02", Tier::parser, sizes_are_representable, kEverywhere, "", "offsets inside a tensor fit in 62 bits",
     Known::tensors},
    {"DQA-S-32", Tier::parser, scale_rank, kProducts,
     "keyAntiquantScale, valueAntiquantScale, keyAntiquantOffset, valueAntiquantOffset",
     "scales (or offsets, if given) have 2 or 3 axes in modes 1/1 and 0/1, 3 axes in modes 3/3", Known::tensors},
    {"COM-S-03", Tier::parser, layout_known, kEverywhere, "inputLayout",
     "the name is one of the 13 layouts, spelled exactly; null means BSH", Known::tensors},
    {"COM-X-05", Tier::parser, cache_rank_known, kEverywhere, "key",
     "a paged cache has 3 axes (blocks, blockSize, Nkv*D), 4 axes (blocks, Nkv, blockSize, D) or 5 axes (blocks, "
     "Nkv, D/16, blockSize, 16)", Known::tensors},
    {"COM-E-02", Tier::parser, empty_together, kEverywhere, "attentionOut",
     "query and attentionOut both have elements or both have none", Known::tensors},
    {"LSE-E-02", Tier::parser, lse_has_elements, kEverywhere, "softmaxLse",
     "with softmaxLseFlag and a query that has elements, softmaxLse has some", Known::tensors},
    {"COM-S-01", Tier::parser, heads_positive, kEverywhere, "numHeads", "numHeads is positive", Known::tensors},
    {"COM-S-02", Tier::parser, kv_heads_positive, kEverywhere, "numKeyValueHeads",
     "numKeyValueHeads is positive, or 0 for as many as numHeads", Known::tensors},
    {"COM-S-14", Tier::parser, query_rank_fits, kEverywhere, "query",
     "query has the axes of its layout: 4 for BNSD and BSND, 3 for BSH, TND and NTD", Known::tensors},
    {"COM-C-04", Tier::parser, query_heads_divide, kEverywhere, "query, numHeads",
     "in layouts that begin with BSH, numHeads divides the last axis of query", Known::tensors},
    {"COM-S-15", Tier::parser, kv_ranks_fit, kEverywhere, "key, value",
     "key and value have as many axes as the layout says; as a paged cache, value has as many as key",
     Known::tensors},
    {"ASL-E-01", Tier::parser, batch_known, kEverywhere, "actualSeqLengths",
     "packed queries come with actualSeqLengths", Known::tensors},

    {"COM-C-13", Tier::features, heads_divide, kEverywhere, "numHeads, numKeyValueHeads",
     "numKeyValueHeads divides numHeads", Known::tensors},
    {"PA-S-04", Tier::features, block_size_positive, kEverywhere, "blockSize",
     "with a blockTable, blockSize is positive", Known::tensors},
    {"PA-S-02", Tier::features, table_rank_fits, kEverywhere, "blockTable", "blockTable has 2 axes", Known::tensors},
    {"COM-X-10", Tier::features, value_not_wider, kOlder, "query, value",
     "value's head dim is at most query's, and equal to it where ropes are tensors of their own"},
    {"ROPE-X-02", Tier::features, rope_ranks, kEverywhere, "queryRope, keyRope",
     "queryRope has as many axes as query, and keyRope as key"},
    {"ROPE-C-01", Tier::features, rope_dims_agree, kEverywhere, "queryRope, keyRope", "both ropes have one head dim"},
    {"MASK-S-05", Tier::features, no_tree, kAscend950, "sparseMode", "sparseMode 9 does not go with a mask"},
    {"PFX-S-07", Tier::features, one_prefix_length, kEverywhere, "actualSharedPrefixLen",
     "actualSharedPrefixLen has one entry"},
    {"PSE-S-01", Tier::features, pse_type_known, kEverywhere, "pseType", "pseType is 0, 2 or 3; newest software: 0"},
    {"DQF-S-14", Tier::features, not_per_block, newest_only(kProducts),
     "queryQuantMode, keyAntiquantMode, valueAntiquantMode", "the modes are not 7, 7, 7"},
};

}  // namespace

const Group<Case> kParserRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
