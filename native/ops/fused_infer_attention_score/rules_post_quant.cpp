// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding types(const Case& c) {
    for (const Input input : {kQuantScale2, kQuantOffset2}) {
        const meta::Tensor* tensor = c.extra[input];
        if (tensor == nullptr || tensor->dtype == ACL_FLOAT || tensor->dtype == ACL_BF16) continue;
        return violated(kInputNames[input], "dtype FLOAT or BF16", meta::dtype_name(tensor->dtype));
    }
    return {};
}

Finding scale_given(const Case& c) {
    if (!c.is_post_quant() || c.kv_is_empty || c.extra[kQuantScale2] != nullptr) return {};
    return violated("quantScale2", text("a scale for attentionOut of ", meta::dtype_name(c.out->dtype)), "nothing");
}

Finding scale_used(const Case& c) {
    if (c.is_post_quant()) return {};
    for (const Input input : {kQuantScale2, kQuantOffset2}) {
        if (c.extra[input] == nullptr) continue;
        return violated(kInputNames[input], text("nothing with attentionOut of ", meta::dtype_name(c.out->dtype)),
                        text("shape ", shape_text(*c.extra[input])), "a quantised output is INT8, E4M3FN or HIFLOAT8");
    }
    return {};
}

Finding not_quantised(const Case& c) {
    if (!c.is_post_quant() || !c.is_full_quant()) return {};
    return violated("attentionOut", "dtype FLOAT16 or BF16 for quantised queries", meta::dtype_name(c.out->dtype));
}

Finding scale_shape(const Case& c) {
    const meta::Tensor* scale = c.extra[kQuantScale2];
    if (!c.is_post_quant() || scale == nullptr) return {};
    const int64_t channels[] = {c.heads, c.dim_v};
    if (scale->numel() == 1 && scale->rank <= 1) return {};
    const bool any_shape = !c.is_packed() && c.layout->out != geometry::Order::nbsd;
    if (any_shape ? scale->numel() == c.heads * c.dim_v : has_shape(*scale, channels, 2)) return {};
    return violated("quantScale2",
                    text("shape (1), or ", c.heads, " * ", c.dim_v, " elements, one for each head and channel"),
                    shape_text(*scale));
}

Finding offset_like_scale(const Case& c) {
    const meta::Tensor* scale = c.extra[kQuantScale2];
    const meta::Tensor* offset = c.extra[kQuantOffset2];
    if (scale == nullptr || offset == nullptr) return {};
    if (offset->dtype == scale->dtype && offset->numel() == scale->numel()) return {};
    return violated("quantOffset2",
                    text("quantScale2's dtype ", meta::dtype_name(scale->dtype), " and ", scale->numel(), " elements"),
                    text(meta::dtype_name(offset->dtype), " and shape ", shape_text(*offset)));
}

constexpr Rule<Case> kRules[] = {
    {"DQF-X-33", Tier::single, not_quantised},
    {"PQ-S-01", Tier::single, types},  // with PQ-S-02
    {"HOST-E-02", Tier::existence, scale_used},
    {"PQ-E-01", Tier::existence, scale_given},
    {"PQ-C-01", Tier::consistency, scale_shape},  // with PQ-C-02
    {"PQ-C-03", Tier::consistency, offset_like_scale},
};

}  // namespace

const Group<Case> kPostQuantRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
