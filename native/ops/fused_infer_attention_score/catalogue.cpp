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

using RuleList = std::vector<const Rule<Case>*>;

// What the host target needs on top comes last: the types of optional tensors, and memory.
const Group<Case>* const kGroups[] = {
    &kParserRules,    &kCommonRules,    &kCommonStorageRules, &kCommonLimitRules, &kCommonShapeRules,
    &kMaskRules,      &kLengthRules,    &kPagingRules,        &kCacheRules,       &kPostQuantRules,
    &kRopeRules,      &kRopeShapeRules, &kPseRules,           &kPaddingRules,     &kPrefixRules,
    &kLseRules,       &kSinkRules,      &kAntiquantRules,     &kAntiquantScaleRules, &kPerTensorRules,
    &kMlaQuantRules,  &kGroupQuantRules, &kUnusedRules,       &kFrontRules,       &kMemoryRules,
};

// The rules in order, and cut into what is looked at one after the other.
struct Order {
    RuleList all;
    RuleList front;  // of the arguments as they came
    RuleList types;  // that tell which type has no kernel
    RuleList rest;
};

Order sorted() {
    Order order;
    for (const Tier tier : {Tier::front, Tier::parser, Tier::features, Tier::single, Tier::existence, Tier::cross,
                            Tier::consistency}) {
        for (const Group<Case>* group : kGroups) {
            for (size_t r = 0; r < group->count; ++r) {
                const Rule<Case>* rule = &group->rules[r];
                if (rule->tier != tier) continue;
                order.all.push_back(rule);
                const bool is_front = tier == Tier::front && rule->needs == Known::nothing;
                (is_front ? order.front : order.rest).push_back(rule);
                if (rule->status == kTypeStatus) order.types.push_back(rule);
            }
        }
    }
    return order;
}

const Order& order() {
    static const Order* const order = new Order(sorted());
    return *order;
}

// Calls visit(Finding) for what is wrong, in the vendor's order, until it returns true. Rules that tell of types come
// first where no kernel is registered for them, as the front layer finds that before anything else.
template <class Visit>
bool each(const Case& c, Visit&& visit) {
    const View view{c.profile, c.revision, c.known};
    const bool has_kernel = c.known < Known::tensors || types_registered(c);
    const bool ends_early = c.known >= Known::dims && (c.is_empty || (c.kv_is_empty && !c.is_host()));
    const auto look = [&](const RuleList& rules, bool skips_types) {
        for (const Rule<Case>* rule : rules) {
            if (ends_early && rule->tier > Tier::parser) break;
            if (skips_types && rule->status == kTypeStatus) continue;
            Finding finding = evaluate(*rule, c, view);
            if (!finding) continue;
            if (finding->code == kTypeStatus) {
                finding->code = has_kernel ? ACLNN_ERR_INNER_TILING_ERROR : ACLNN_ERR_PARAM_INVALID;
            }
            if (visit(std::move(finding))) return true;
        }
        return false;
    };
    if (look(order().front, false)) return true;
    if (!has_kernel && !is_plain_type_mistake(c) && look(order().types, false)) return true;
    return look(order().rest, !has_kernel);
}

}  // namespace

size_t rule_count() { return order().all.size(); }
const Rule<Case>& rule_at(size_t index) { return *order().all[index]; }

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
        if (Finding finding = target_limit(first_finding(subject))) return finding;
    }
    if (subject.known == Known::lengths) return {};
    return target_limit(
        named(violated("the call", "arguments that belong together", "some that do not", {}), "HOST-X-04"));
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
        report.problems.push_back(std::move(*finding));
        return false;
    });
    if (report.problems.empty()) {
        if (Finding finding = first_limit(subject)) report.problems.push_back(std::move(*finding));
    }
    report.accepted_by = accepting_profiles(call, revision);
    for (Problem& problem : report.problems) problem.accepted_by = report.accepted_by;
    return report;
}

}  // namespace acl_attn::ops::fia
