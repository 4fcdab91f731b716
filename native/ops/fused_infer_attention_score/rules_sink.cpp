// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding sink_type(const Case& c) {
    const meta::Tensor* sink = c.extra[kLearnableSink];
    if (sink == nullptr || sink->dtype == c.query->dtype) return {};
    return violated("learnableSink", text("query's dtype ", meta::dtype_name(c.query->dtype)),
                    meta::dtype_name(sink->dtype));
}

Finding sink_shape(const Case& c) {
    const meta::Tensor* sink = c.extra[kLearnableSink];
    if (sink == nullptr || has_shape(*sink, &c.heads, 1)) return {};
    return violated("learnableSink", text("shape (", c.heads, "), a logit for each head"), shape_text(*sink));
}

Finding sink_not_quantised(const Case& c) {
    if (c.extra[kLearnableSink] == nullptr || !c.is_full_quant()) return {};
    return violated("learnableSink", "nothing with quantised queries",
                    text("shape ", shape_text(*c.extra[kLearnableSink])));
}

constexpr Rule<Case> kRules[] = {
    {"SINK-X-09", Tier::single, sink_not_quantised},  // early: the type would be blamed
    {"SINK-X-01", Tier::single, sink_type},           // with SINK-S-01
    {"SINK-S-03", Tier::single, sink_shape},          // with SINK-S-02
};

}  // namespace

const Group<Case> kSinkRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
