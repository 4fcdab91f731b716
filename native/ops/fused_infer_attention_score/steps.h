// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator's parser, in its own order, so that a call with several defects is refused for the same one. A step
// checks a rule, fills a part of the case, or both; later steps may use what earlier ones have filled.
#pragma once

#include "ops/fused_infer_attention_score/case.h"
#include "ops/rule.h"

namespace acl_attn::ops::fia {

struct Step {
    const char* id;  // empty: the step cannot fail
    Finding (*take)(Case&);
};

template <size_t count>
Finding take(const Step (&steps)[count], Case& subject) {
    for (const Step& step : steps) {
        if (Finding finding = step.take(subject)) return named(std::move(finding), step.id);
    }
    return {};
}

// Heads, head dims, sequences: once storage, layout and emptiness are known.
Finding find_dimensions(Case& subject);

// Rope, shared prefix: once dimensions are known.
Finding find_features(Case& subject);

}  // namespace acl_attn::ops::fia
