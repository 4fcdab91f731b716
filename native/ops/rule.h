// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule of an operator's constraint catalogue as data: id, tier and one function that is predicate and message in one.
// A group of rules is a table in evaluation order; the first finding ends a call.
#pragma once

#include <cstddef>

#include "ops/finding.h"

namespace acl_attn::ops {

// The catalogue's four degrees, in the order in which they are evaluated.
enum class Tier : uint8_t { single, existence, cross, consistency };

template <class Case>
struct Rule {
    const char* id;  // "MASK-C-06"; ids of our own begin with "HOST-"
    Tier tier;
    Finding (*check)(const Case&);
};

template <class Case>
struct Group {
    const Rule<Case>* rules;
    size_t count;
};

// Why a call is refused, with the rule's id at the end so that people can look it up.
inline Finding named(Finding finding, const char* id) {
    if (finding) finding.message += text(" [", id, "]");
    return finding;
}

template <class Case>
Finding first_finding(const Group<Case>* groups, size_t count, Tier tier, const Case& subject) {
    for (size_t g = 0; g < count; ++g) {
        for (size_t r = 0; r < groups[g].count; ++r) {
            const Rule<Case>& rule = groups[g].rules[r];
            if (rule.tier != tier) continue;
            if (Finding finding = rule.check(subject)) return named(std::move(finding), rule.id);
        }
    }
    return {};
}

}  // namespace acl_attn::ops
