// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A learnable logit of each head that takes part in the softmax.
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

const meta::Tensor* sink(const Case& c) { return c.extra[kLearnableSink]; }

Finding known_type(const Case& c) {
    if (sink(c) == nullptr || sink(c)->dtype == ACL_BF16) return {};
    if (!c.is_older() && sink(c)->dtype == ACL_FLOAT16) return {};
    return dtype_refused("learnableSink", c.is_older() ? "BF16" : "FLOAT16 or BF16", sink(c)->dtype);
}

// Under quantised queries a sink of any type is wrong, which SINK-X-09 says.
Finding type_like_query(const Case& c) {
    if (sink(c) == nullptr || (c.is_host() && c.is_full_quant()) || sink(c)->dtype == c.query->dtype) return {};
    return dtype_refused("learnableSink", text(meta::dtype_name(c.query->dtype), ", as query"), sink(c)->dtype);
}

Finding one_axis(const Case& c) {
    if (sink(c) == nullptr || sink(c)->rank == 1) return {};
    return shape_refused("learnableSink", text("(", c.call.num_heads, "), a logit for each head"), *sink(c));
}

Finding one_each_head(const Case& c) {
    if (sink(c) == nullptr || sink(c)->rank != 1 || sink(c)->shape[0] == c.call.num_heads) return {};
    return shape_refused("learnableSink", text("(", c.call.num_heads, "), a logit for each head"), *sink(c));
}

Finding query_dim(const Case& c) {
    if (sink(c) == nullptr || is_one_of(c.dim, {64, 128, 192})) return {};
    return violated("query", "a head dim of 64, 128 or 192 with a sink", text(c.dim));
}

Finding value_dim(const Case& c) {
    if (sink(c) == nullptr || is_one_of(c.dim_v, {64, 128})) return {};
    return violated("value", "a head dim of 64 or 128 with a sink", text(c.dim_v));
}

Finding precise(const Case& c) {
    if (sink(c) == nullptr || c.call.inner_precise == 0) return {};
    return violated("innerPrecise", "0 with a sink", text(c.call.inner_precise));
}

Finding excluded_with(const Case& c, bool applies, const char* with) {
    return sink(c) != nullptr && applies ? excluded(c, kLearnableSink, with) : Finding{};
}
Finding no_padding(const Case& c) { return excluded_with(c, c.product_pads(), "left padding"); }
Finding no_prefix(const Case& c) { return excluded_with(c, c.has_prefix(), "a shared prefix"); }
Finding no_pse(const Case& c) { return excluded_with(c, c.extra[kPseShift] != nullptr, "pseShift"); }
Finding no_slopes(const Case& c) { return excluded_with(c, c.has_slopes(), "slopes"); }
Finding no_post_quant(const Case& c) { return excluded_with(c, c.is_post_quant(), "a quantised output"); }
Finding not_quantised(const Case& c) {
    const bool by_product = c.is_anti() || c.is_decode_mla();
    return excluded_with(c, c.is_full_quant() || (!c.is_host() && by_product),
                         c.is_decode_mla() ? "decode MLA" : "quantised queries or keys");
}

constexpr const char* kSink = "learnableSink";

constexpr Rule<Case> kRules[] = {
    {"SINK-S-01", Tier::single, known_type, kEverywhere, kSink, "the sink is FLOAT16 or BF16; on older products BF16",
     Known::tensors},
    {"SINK-S-02", Tier::single, one_axis, kEverywhere, kSink, "the sink has one axis", Known::tensors},
    {"SINK-S-03", Tier::single, one_each_head, kEverywhere, kSink, "the sink has a logit for each query head",
     Known::tensors},
    {"SINK-X-01", Tier::single, type_like_query, and_host(kAscend950), kSink, "the sink has query's type",
     Known::tensors},
    {"SINK-X-04", Tier::cross, precise, kAscend950, "innerPrecise", "with a sink, innerPrecise is 0", Known::tensors},
    {"SINK-X-02", Tier::cross, query_dim, kAscend950, "query", "with a sink, query's head dim is 64, 128 or 192"},
    {"SINK-X-03", Tier::cross, value_dim, kAscend950, "value", "with a sink, value's head dim is 64 or 128"},
    {"SINK-X-05", Tier::cross, no_padding, kAscend950, kSink, "left padding has no sink"},
    {"SINK-X-06", Tier::cross, no_prefix, kAscend950, kSink, "a shared prefix has no sink", Known::tensors},
    {"SINK-X-07", Tier::cross, no_pse, kAscend950, kSink, "pseShift has no sink", Known::tensors},
    {"SINK-X-08", Tier::cross, no_slopes, page_only(kAscend950), kSink, "slopes have no sink", Known::tensors},
    {"SINK-X-09", Tier::cross, not_quantised, and_host(kAscend950), kSink,
     "quantised queries or keys, and decode MLA, have no sink; profile host minds quantised queries only"},
    {"SINK-X-10", Tier::cross, no_post_quant, kAscend950, kSink, "a quantised output has no sink", Known::tensors},
};

}  // namespace

const Group<Case> kSinkRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
