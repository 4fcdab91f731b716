// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding lse_type(const Case& c) {
    if (c.lse == nullptr || c.lse->dtype == ACL_FLOAT) return {};
    return dtype_refused("softmaxLse", "FLOAT", c.lse->dtype);
}

Finding lse_present(const Case& c) {
    if (!c.call.softmax_lse_flag || c.lse != nullptr) return {};
    return violated("softmaxLse", "a tensor, as softmaxLseFlag is true", "nothing");
}

bool puts_heads_first(const Case& c) { return geometry::lse_order(c.layout->query) == geometry::Order::bnsd; }

Finding lse_shape(const Case& c) {
    int64_t wanted[4];
    const geometry::Order order = geometry::lse_order(c.layout->query);
    geometry::shape(order, {c.q.batch, c.q.tokens, c.heads, 1}, wanted);
    if (has_shape(*c.lse, wanted, geometry::rank(order))) return {};
    return violated("softmaxLse",
                    text("shape ", dims_text(wanted, geometry::rank(order)), " = ",
                         c.is_packed() ? "(T, N, 1)" : "(B, N, Sq, 1)", " for layout ", c.layout->name),
                    shape_text(*c.lse));
}

Finding packed_shape(const Case& c) { return c.lse == nullptr || puts_heads_first(c) ? Finding{} : lse_shape(c); }
Finding batched_shape(const Case& c) { return c.lse == nullptr || !puts_heads_first(c) ? Finding{} : lse_shape(c); }

Finding none_for_different_dims(const Case& c) {
    if (!c.call.softmax_lse_flag || !c.is_gqa() || !c.is_dim_different()) return {};
    return violated("softmaxLseFlag", "false where head dims differ between query and value", "true");
}

constexpr Rule<Case> kRules[] = {
    {"LSE-S-01", Tier::single, lse_type, kEverywhere, "softmaxLse", "softmaxLse is FLOAT", Known::tensors},
    {"LSE-E-01", Tier::existence, lse_present, kEverywhere, "softmaxLse", "softmaxLseFlag comes with softmaxLse",
     Known::tensors},
    {"LSE-X-01", Tier::cross, packed_shape, kEverywhere, "softmaxLse", "for packed queries, softmaxLse is (T, N, 1)"},
    {"LSE-X-02", Tier::cross, batched_shape, kEverywhere, "softmaxLse",
     "for other queries, softmaxLse is (B, N, Sq, 1)"},
    {"LSE-X-03", Tier::cross, none_for_different_dims, kProducts, "softmaxLseFlag",
     "where value's head dim differs, there is no softmaxLse"},
};

}  // namespace

const Group<Case> kLseRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
