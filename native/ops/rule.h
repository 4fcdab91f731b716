// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule of an operator's constraint catalogue as data: what it says, whom it binds, when it is looked at, and one
// function that is predicate and message in one. A group of rules is a table in evaluation order; the first finding
// ends a call, or all findings make a report.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/finding.h"
#include "ops/profile.h"

namespace acl_attn::ops {

// When a rule is looked at: all groups' rules of a tier before any of the next. The front layer and the parser come
// first; then the catalogue's four degrees, in the order in which operators evaluate them.
enum class Tier : uint8_t { front, parser, features, single, existence, cross, consistency };

// How much of a call must have been understood for a rule to make sense. Each includes those before it.
enum class Known : uint8_t {
    nothing,  // the arguments as they came
    tensors,  // required tensors are there
    layouts,  // layouts are known by name, where they are arguments of their own
    dims,     // heads, head dims, sequences: the parser found nothing
    lengths,  // the length arrays hold values that fit
};

template <class Case>
struct Rule {
    const char* id;  // "MASK-C-06"; ids of our own begin with "HOST-"
    Tier tier;
    Finding (*check)(const Case&);
    Scope scope = kEverywhere;
    const char* parameter = "";
    const char* text = "";
    Known needs = Known::dims;
    aclnnStatus status = ACLNN_SUCCESS;  // 0: what the finding says
};

template <class Case>
struct Group {
    const Rule<Case>* rules;
    size_t count;
};

// Under whose rules, and with what is known of the call.
struct View {
    Profile profile = Profile::host;
    Revision revision = Revision::page;
    Known known = Known::lengths;
};

template <class Case>
Finding evaluate(const Rule<Case>& rule, const Case& subject, const View& view) {
    if (rule.needs > view.known || !rule.scope.covers(view.profile, view.revision)) return {};
    Finding finding = rule.check(subject);
    if (finding) {
        finding->rule = rule.id;
        if (rule.status != ACLNN_SUCCESS) finding->code = rule.status;
    }
    return finding;
}

// Calls visit(Finding) for everything that the rules of a tier find, until it returns true.
template <class Case, class Visit>
bool each_finding(const Group<Case>* groups, size_t count, Tier tier, const Case& subject, const View& view,
                  Visit&& visit) {
    for (size_t g = 0; g < count; ++g) {
        for (size_t r = 0; r < groups[g].count; ++r) {
            const Rule<Case>& rule = groups[g].rules[r];
            if (rule.tier != tier) continue;
            if (Finding finding = evaluate(rule, subject, view)) {
                if (visit(std::move(finding))) return true;
            }
        }
    }
    return false;
}

template <class Case>
Finding first_finding(const Group<Case>* groups, size_t count, Tier tier, const Case& subject, const View& view = {}) {
    Finding first;
    each_finding(groups, count, tier, subject, view, [&](Finding finding) {
        first = std::move(finding);
        return true;
    });
    return first;
}

}  // namespace acl_attn::ops
