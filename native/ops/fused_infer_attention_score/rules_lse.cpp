// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding lse_type(const Case& c) {
    if (c.lse == nullptr || c.lse->dtype == ACL_FLOAT) return {};
    return violated("softmaxLse", "dtype FLOAT", meta::dtype_name(c.lse->dtype));
}

Finding lse_shape(const Case& c) {
    if (c.lse == nullptr) return {};
    int64_t wanted[4];
    const geometry::Order order = geometry::lse_order(c.layout->query);
    geometry::shape(order, {c.q.batch, c.q.tokens, c.heads, 1}, wanted);
    if (has_shape(*c.lse, wanted, geometry::rank(order))) return {};
    return violated("softmaxLse",
                    text("shape ", dims_text(wanted, geometry::rank(order)), " = ",
                         c.is_packed() ? "(T, N, 1)" : "(B, N, Sq, 1)", " for layout ", c.layout->name),
                    shape_text(*c.lse));
}

constexpr Rule<Case> kRules[] = {
    {"LSE-S-01", Tier::single, lse_type},
    {"LSE-X-02", Tier::cross, lse_shape},  // packed layouts: LSE-X-01
};

}  // namespace

const Group<Case> kLseRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
