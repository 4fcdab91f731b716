// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The order in which the operator looks at its rules: front layer, parser, then the tiers, each through all groups.
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"

namespace acl_attn::ops::fia {

Finding first_finding(Case& subject) {
    if (Finding finding = front_findings(subject.call)) return finding;
    if (Finding finding = classify(subject)) return finding;
    if (subject.is_empty) return {};  // COM-E-03
    const Group<Case> groups[] = {kCommonRules, kMaskRules, kLengthRules,     kPagingRules,    kPostQuantRules,
                                  kRopeRules,   kPseRules,  kPaddingRules,    kPrefixRules,    kLseRules,
                                  kSinkRules,   kUnusedRules, kAntiquantRules, kFullQuantRules, kMemoryRules};
    const auto run = [&](Tier tier) { return ops::first_finding(groups, std::size(groups), tier, subject); };
    for (const Tier tier : {Tier::single, Tier::existence}) {
        if (Finding finding = run(tier)) return finding;
    }
    read_lengths(subject);
    for (const Tier tier : {Tier::cross, Tier::consistency}) {
        if (Finding finding = run(tier)) return finding;
    }
    return {};
}

}  // namespace acl_attn::ops::fia
