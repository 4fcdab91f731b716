// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How the sparse operators look at their rules: the front layer, then the tiers, each through all groups. A tier may
// count on those before it; where these have found something, how much of the call is understood decides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ops/rule.h"

namespace acl_attn::ops::sparse {

template <class Case>
struct Catalogue {
    const Group<Case>* groups;
    size_t count;
};

constexpr Tier kTiers[] = {Tier::front, Tier::single, Tier::existence, Tier::cross, Tier::consistency};

template <class Case>
size_t rule_count(const Catalogue<Case>& catalogue) {
    size_t count = 0;
    for (size_t g = 0; g < catalogue.count; ++g) count += catalogue.groups[g].count;
    return count;
}

// In the order in which rules are looked at; `index` is less than their count.
template <class Case>
const Rule<Case>& rule_at(const Catalogue<Case>& catalogue, size_t index) {
    const Rule<Case>* found = nullptr;
    for (const Tier tier : kTiers) {
        for (size_t g = 0; g < catalogue.count; ++g) {
            for (size_t r = 0; r < catalogue.groups[g].count; ++r) {
                if (catalogue.groups[g].rules[r].tier != tier) continue;
                found = &catalogue.groups[g].rules[r];
                if (index-- == 0) return *found;
            }
        }
    }
    return *found;
}

// What phase one returns for a call that breaks a rule. Rules that ask for a pointer say their own.
template <class Case>
aclnnStatus documented_status(const Rule<Case>& rule) {
    return rule.status == ACLNN_SUCCESS ? ACLNN_ERR_PARAM_INVALID : rule.status;
}

template <class Case>
Finding first_finding(const Catalogue<Case>& catalogue, const Case& subject, const View& view) {
    for (const Tier tier : kTiers) {
        Finding finding = ops::first_finding(catalogue.groups, catalogue.count, tier, subject, view);
        if (finding) return finding;
    }
    return {};
}

// What the rules of a tier need to be known of a call, unless they get on with less.
constexpr Known needed_by(Tier tier) {
    switch (tier) {
        case Tier::front: return Known::nothing;
        case Tier::single: return Known::tensors;
        case Tier::existence:
        case Tier::cross: return Known::layouts;
        default: return Known::dims;
    }
}

// Calls visit(Finding) for everything that is wrong, the one that phase one reports at the front. A call that the front
// layer refuses is looked at no further: what is missing or dead there would be reported as something else.
template <class Case, class Visit>
void all_findings(const Catalogue<Case>& catalogue, const Case& subject, const View& view, Visit&& visit) {
    bool has_found = false;
    for (const Tier tier : kTiers) {
        for (size_t g = 0; g < catalogue.count; ++g) {
            for (size_t r = 0; r < catalogue.groups[g].count; ++r) {
                const Rule<Case>& rule = catalogue.groups[g].rules[r];
                if (rule.tier != tier || std::min(rule.needs, needed_by(tier)) > view.known) continue;
                Finding finding = evaluate(rule, subject, {view.profile, view.revision, Known::lengths});
                if (!finding) continue;
                has_found = true;
                visit(std::move(finding));
            }
        }
        if (has_found && tier == Tier::front) return;
    }
}

// Bits of the profiles that take a call.
template <class Case>
uint32_t accepting_profiles(const Catalogue<Case>& catalogue, const Case& subject, Revision revision) {
    uint32_t profiles = 0;
    for (int i = 0; i < kProfileCount; ++i) {
        const Profile profile = static_cast<Profile>(i);
        if (!first_finding(catalogue, subject, {profile, revision, Known::lengths})) profiles |= bit(profile);
    }
    return profiles;
}

// Why a call is refused under the profile in force, with the profiles that would take it; nothing if it is not.
template <class Case>
Finding refusal(const Catalogue<Case>& catalogue, const Case& subject) {
    const View view{current_profile(), current_revision(), Known::lengths};
    Finding finding = first_finding(catalogue, subject, view);
    if (!finding) return finding;
    finding->accepted_by = accepting_profiles(catalogue, subject, view.revision);
    return finding;
}

}  // namespace acl_attn::ops::sparse
