// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding prefix_types(const Case& c) {
    if (!c.has_prefix()) return {};
    const aclDataType wanted = c.key->front()->dtype;
    for (const Input input : {kKeySharedPrefix, kValueSharedPrefix}) {
        if (c.extra[input]->dtype == wanted) continue;
        return violated(kInputNames[input], text("key's dtype ", meta::dtype_name(wanted)),
                        meta::dtype_name(c.extra[input]->dtype));
    }
    return {};
}

Finding prefix_shapes(const Case& c) {
    if (!c.has_prefix()) return {};
    const int rank = geometry::rank(c.layout->query);
    for (const Input input : {kKeySharedPrefix, kValueSharedPrefix}) {
        int64_t wanted[4];
        const int64_t dim = input == kKeySharedPrefix ? c.dim : c.dim_v;
        geometry::shape(c.layout->query, {1, c.k_prefix.tokens, c.kv_heads, dim}, wanted);
        if (has_shape(*c.extra[input], wanted, rank)) continue;
        return violated(kInputNames[input],
                        text("shape ", dims_text(wanted, rank), " = ", geometry::axes(c.layout->query), " with B = 1"),
                        shape_text(*c.extra[input]));
    }
    return {};
}

Finding no_padding(const Case& c) {
    if (!c.has_prefix()) return {};
    for (const Input input : {kQueryPaddingSize, kKvPaddingSize}) {
        if (c.extra[input] != nullptr) return violated(kInputNames[input], "nothing with a shared prefix", "a tensor");
    }
    return {};
}

Finding no_full_quant(const Case& c) {
    if (!c.has_prefix() || !c.is_full_quant()) return {};
    return violated("keySharedPrefix", "nothing with quantised queries",
                    text("shape ", shape_text(*c.extra[kKeySharedPrefix])));
}

constexpr Rule<Case> kRules[] = {
    {"PFX-X-08", Tier::existence, no_full_quant},
    {"PFX-X-03", Tier::existence, no_padding},
    {"PFX-S-06", Tier::consistency, prefix_types},
    {"PFX-S-03", Tier::consistency, prefix_shapes},  // with PFX-S-01, 04 and 05
};

}  // namespace

const Group<Case> kPrefixRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
