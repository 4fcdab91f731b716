// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The order in which the operator looks at its rules: front layer, parser, then the tiers, each through all groups.
#include "ops/fused_infer_attention_score/catalogue.h"

#include <iterator>
#include <vector>

#include "ops/fused_infer_attention_score/prepared.h"
#include "ops/fused_infer_attention_score/report.h"
#include "ops/fused_infer_attention_score/rules.h"

namespace acl_attn::ops::fia {
namespace {

// What the host target needs on top comes last: the front layer's rule of optional types, and memory.
const Group<Case>* const kGroups[] = {
    &kParserRules,   &kCommonRules,    &kCommonShapeRules, &kMaskRules,     &kLengthRules,
    &kPagingRules,   &kCacheRules,     &kPostQuantRules, &kRopeRules,        &kRopeShapeRules, &kPseRules,
    &kPaddingRules,  &kPrefixRules,    &kLseRules,       &kSinkRules,        &kUnusedRules,   &kAntiquantRules,
    &kAntiquantScaleRules, &kPerTensorRules, &kMlaQuantRules, &kGroupQuantRules, &kFrontRules, &kMemoryRules,
};

constexpr Tier kCheckers[] = {Tier::features, Tier::single, Tier::existence, Tier::cross, Tier::consistency};

const std::vector<const Rule<Case>*>& all_rules() {
    static const std::vector<const Rule<Case>*>* const rules = [] {
        auto* list = new std::vector<const Rule<Case>*>;
        for (const Tier tier : {Tier::front, Tier::parser, Tier::features, Tier::single, Tier::existence, Tier::cross,
                                Tier::consistency}) {
            for (const Group<Case>* group : kGroups) {
                for (size_t r = 0; r < group->count; ++r) {
                    if (group->rules[r].tier == tier) list->push_back(&group->rules[r]);
                }
            }
        }
        return list;
    }();
    return *rules;
}

View view_of(const Case& c) { return {c.profile, c.revision, c.known}; }

// The rule's own code, or what hangs on whether the types have a kernel.
Finding coded(Finding finding, const Case& c) {
    if (finding->code == kTypeStatus) {
        finding->code = types_registered(c) ? ACLNN_ERR_INNER_TILING_ERROR : ACLNN_ERR_PARAM_INVALID;
    }
    return finding;
}

// Calls visit(Finding) for what is wrong, in the vendor's order, until it returns true. Rules that tell of types come
// first where no kernel is registered for them, as the front layer finds that before anything else.
template <class Visit>
bool each(const Case& c, Visit&& visit) {
    const View view = view_of(c);
    const bool is_typed = c.known < Known::tensors || types_registered(c);
    const bool is_empty = c.known >= Known::dims && (c.is_empty || (c.kv_is_empty && !c.is_host()));
    const auto look = [&](bool at_types, bool (*concerns)(const Rule<Case>&)) {
        for (const Rule<Case>* rule : all_rules()) {
            if (!concerns(*rule)) continue;
            if (is_empty && rule->tier > Tier::parser) break;
            Finding finding = evaluate(*rule, c, view);
            if (finding && !at_types && !is_typed && rule->status == kTypeStatus) continue;  // told already
            if (finding && visit(coded(std::move(finding), c))) return true;
        }
        return false;
    };
    const auto is_front = [](const Rule<Case>& rule) { return rule.tier == Tier::front && rule.needs == Known::nothing; };
    const auto is_of_types = [](const Rule<Case>& rule) { return rule.status == kTypeStatus; };
    const auto is_rest = [](const Rule<Case>& rule) { return rule.tier != Tier::front || rule.needs != Known::nothing; };
    if (look(false, is_front)) return true;
    if (!is_typed && look(true, is_of_types)) return true;
    return look(false, is_rest);
}

}  // namespace

size_t rule_count() { return all_rules().size(); }
const Rule<Case>& rule_at(size_t index) { return *all_rules()[index]; }

aclnnStatus documented_status(const Rule<Case>& rule) {
    if (rule.status == kTypeStatus) return ACLNN_ERR_PARAM_INVALID;
    return rule.status == ACLNN_SUCCESS ? ACLNN_ERR_INNER_TILING_ERROR : rule.status;
}

Finding first_finding(const Case& subject) {
    Finding first;
    each(subject, [&](Finding finding) {
        first = std::move(finding);
        return true;
    });
    return first;
}

Finding first_target_finding(Case& subject) {
    if (!subject.is_host()) {
        subject.profile = Profile::host;
        if (Finding finding = first_finding(subject)) return finding;
    }
    if (subject.known == Known::lengths) return {};
    return named(violated("the call", "arguments that belong together", "some that do not", {}), "HOST-X-04");
}

namespace {

Finding first_limit(Case& subject) {
    if (Finding finding = first_target_finding(subject)) return finding;
    return unsupported(subject);
}

}  // namespace

uint32_t accepting_profiles(const Call& call, Revision revision) {
    uint32_t profiles = 0;
    for (int i = 0; i < kProfileCount; ++i) {
        Case subject(call, static_cast<Profile>(i), revision);
        interpret(subject);
        if (!first_finding(subject) && !first_limit(subject)) profiles |= bit(static_cast<Profile>(i));
    }
    return profiles;
}

Report make_report(const Call& call, Profile profile, Revision revision) {
    Report report;
    Case subject(call, profile, revision);
    interpret(subject);
    each(subject, [&](Finding finding) {
        report.problems.push_back({std::move(*finding), false});
        return false;
    });
    if (report.problems.empty()) {
        if (Finding finding = first_limit(subject)) report.problems.push_back({std::move(*finding), true});
    }
    report.accepted_by = accepting_profiles(call, revision);
    for (Reported& reported : report.problems) reported.problem.accepted_by = report.accepted_by;
    return report;
}

}  // namespace acl_attn::ops::fia
