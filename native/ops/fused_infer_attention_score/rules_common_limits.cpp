// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The common parameters: how large a call may be, and what a class of calls then still excludes. Looked at after the
// rules of storage.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding out_type(const Case& c) {
    if (c.is_post_quant() || c.is_full_quant() || c.out->dtype == c.query->dtype) return {};
    return dtype_refused("attentionOut", text(meta::dtype_name(c.query->dtype), ", as query"), c.out->dtype);
}

Finding batch_in_range(const Case& c) {
    if (c.product_batch >= 1 && c.batch >= 1 && c.batch <= kMaxBatch) return {};
    return violated(c.is_packed() ? "actualSeqLengths" : "query", text("1 to ", kMaxBatch, " sequences"),
                    text(c.batch));
}

Finding dims_in_range(const Case& c) {
    constexpr int64_t limit = 512;
    if (c.dim < 1 || c.dim > limit) return violated("query", text("a head dim of 1 to ", limit), text(c.dim));
    if (c.dim_v < 1 || c.dim_v > limit) return violated("value", text("a head dim of 1 to ", limit), text(c.dim_v));
    return {};
}

Finding different_dims_small(const Case& c) {
    constexpr int64_t limit = 128;
    if (!c.is_dim_different()) return {};
    if (c.dim <= limit && c.dim_v <= limit) return {};
    return violated(c.dim > limit ? "query" : "value",
                    text("a head dim of at most ", limit, " where head dims differ between query and value"),
                    text(c.dim > limit ? c.dim : c.dim_v));
}

Finding mla_group(const Case& c) {
    if (!c.is_decode_mla()) return {};
    const int64_t group = c.heads / c.kv_heads;
    if (may_have_any_heads(c) ? group <= 128 : is_power_of_two_to_128(group)) return {};
    return violated("numHeads", "numKeyValueHeads times 1, 2, 4, 8, 16, 32, 64 or 128 in decode MLA",
                    text(group, " times numKeyValueHeads"));
}

Finding mla_has_queries(const Case& c) {
    if (c.call.is_largest || !c.is_decode_mla() || c.product_q >= 1) return {};
    return violated("query", "at least one token a sequence in decode MLA", text(c.product_q));
}

Finding odd_mla_heads_alone(const Case& c) {
    if (!c.is_decode_mla() || !c.is_plain_quant() || is_power_of_two_to_128(c.heads)) return {};
    const char* with = "decode MLA whose numHeads is no power of 2";
    if (c.extra[kLearnableSink] != nullptr) return excluded(c, kLearnableSink, with);
    if (c.is_post_quant()) return dtype_refused("attentionOut", text("FLOAT16 or BF16 with ", with), c.out->dtype);
    if (c.mask == nullptr || c.sparse_mode_number != 0) return {};
    return violated("sparseMode", text("3 or 4 for the mask with ", with), "0");
}

Finding older_combined_alone(const Case& c) {
    if (c.rope != Rope::combined) return {};
    if (c.is_list()) return no_list(c, "prefill MLA");
    if (Finding f = first_excluded(c, {kQueryPaddingSize, kKvPaddingSize}, "prefill MLA")) return f;
    return c.is_post_quant() ? dtype_refused("attentionOut", "FLOAT16 or BF16 with MLA", c.out->dtype) : Finding{};
}

constexpr Rule<Case> kRules[] = {
    {"COM-C-25", Tier::consistency, out_type, kProducts, "attentionOut",
     "an output that is not quantised has query's type", Known::tensors, kTypeStatus},
    {"COM-C-01", Tier::consistency, batch_in_range, kEverywhere, "query, actualSeqLengths",
     "there are 1 to 65536 sequences"},
    {"COM-C-06", Tier::consistency, dims_in_range, kEverywhere, "query, value", "head dims are 1 to 512"},
    {"COM-C-07", Tier::consistency, different_dims_small, kProducts, "query, value",
     "where value's head dim differs from query's, both are at most 128"},
    {"COM-C-14", Tier::consistency, mla_group, kProducts, "numHeads, numKeyValueHeads",
     "decode MLA has a group of 1, 2, 4, 8, 16, 32, 64 or 128 query heads"},
    {"COM-C-15", Tier::consistency, mla_has_queries, kProducts, "query", "decode MLA has at least one query token"},
    {"COM-C-16", Tier::consistency, odd_mla_heads_alone, newest_only(kProducts),
     "learnableSink, attentionOut, sparseMode",
     "decode MLA with a number of heads that is no power of 2 has no sink, no quantised output, and no mask in "
     "sparseMode 0"},
    {"COM-X-09", Tier::consistency, older_combined_alone, page_only(kOlder),
     "key, queryPaddingSize, kvPaddingSize, attentionOut",
     "prefill MLA has no tensor list and no left padding, and MLA no quantised output"},
};

}  // namespace

const Group<Case> kCommonLimitRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
