// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that break one rule each, as data: which scenario, what is changed, and whom the rule binds.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sparse_call.h"

namespace sparse_call {

using Change = std::function<void(Prepared&)>;

// Whose rule it is: letters of profiles h(ost), 9(50), o(lder); then p(age) or n(ewest) if only one edition has it.
inline bool holds(const std::string& scope) {
    const char* profile = std::getenv("ACL_ATTN_PROFILE");
    const char* edition = std::getenv("ACL_ATTN_RULES");
    const std::string name = profile == nullptr ? "ascend950" : profile;
    const bool is_newest = edition != nullptr && std::strcmp(edition, "newest") == 0;
    const char letter = name == "host" ? 'h' : name == "ascend950" ? '9' : 'o';
    if (scope.find(letter) == std::string::npos) return false;
    if (letter == 'h') return true;
    if (scope.find('p') != std::string::npos) return !is_newest;
    return scope.find('n') == std::string::npos || is_newest;
}

struct Refused {
    const char* rule;
    const char* scope;
    Scenario from;
    Change change;
    const char* parameter;
    int status = 161002;
};

// A change of a member to a value.
template <class Value>
inline Change set(Value Arguments::* member, Value value) {
    return [=](Prepared& p) { p.a.*member = value; };
}
inline Change none(T Arguments::* member) { return set<T>(member, nullptr); }
inline Change to(int64_t Arguments::* member, int64_t value) { return set<int64_t>(member, value); }
inline Change blank(T Arguments::* member, Dims dims, aclDataType type = ACL_INT32) {
    return [=](Prepared& p) { p.a.*member = p.blank(dims, type); };
}
inline Change both(Change a, Change b) {
    return [=](Prepared& p) { a(p), b(p); };
}
inline void nothing(Prepared&) {}

inline T dead_tensor() {
    static int32_t data = 0;
    const int64_t dims[] = {1};
    T made = aclCreateTensor(dims, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, dims, 1, &data);
    aclDestroyTensor(made);
    return made;
}

// Original tokens listed for each row, without a mask; the newest edition's.
inline void list_original(Prepared& p) {
    p.a.ori_mask_mode = 0;
    p.a.ori_win_left = p.a.ori_win_right = holds("o") ? 0 : -1;
    p.a.ori_topk = 3;
    p.a.ori_sparse_indices = p.ints({0, 1, 2, 3, -1, -1, 4, 5, 6}, {3, 1, 3});
    p.a.ori_topk_length = p.ints({3, 2, 1}, {3, 1});
}

extern const std::vector<Refused> kMainRefused;
extern const std::vector<Refused> kQuantRefused;
extern const std::vector<Refused> kMetadataRefused;
extern const std::vector<Refused> kQuantMetadataRefused;

}  // namespace sparse_call
