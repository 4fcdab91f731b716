// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rule says about a call: nothing, or what is wrong, in parts, from which people get one sentence of the form
// "parameter: expected X, got Y; fix". A finding that says nothing is a null pointer, so that rules cost no allocation
// as long as they hold.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"
#include "runtime/text.h"

namespace acl_attn::ops {

struct Problem {
    aclnnStatus code = 0;
    std::string parameter, expected, got;
    std::string fix;        // may be empty
    const char* rule = "";  // its id; set by whoever evaluates the rule
    uint32_t accepted_by = 0;  // bits of the profiles under which the whole call is fine; set where a call is refused
    bool is_target_limit = false;  // the profile allows it, the target does not do it

    std::string sentence() const;
};

class Finding {
public:
    Finding() = default;
    explicit Finding(Problem problem) : problem_(std::make_unique<Problem>(std::move(problem))) {}

    explicit operator bool() const { return problem_ != nullptr; }
    Problem* operator->() { return problem_.get(); }
    const Problem* operator->() const { return problem_.get(); }
    Problem& operator*() { return *problem_; }
    const Problem& operator*() const { return *problem_; }

private:
    std::unique_ptr<Problem> problem_;
};

inline Finding refuse(aclnnStatus code, std::string parameter, std::string expected, std::string got,
                      std::string fix) {
    return Finding(Problem{code, std::move(parameter), std::move(expected), std::move(got), std::move(fix)});
}

// A required pointer is null.
inline Finding missing(const std::string& parameter, const std::string& expected) {
    return refuse(ACLNN_ERR_PARAM_NULLPTR, parameter, expected, "a null pointer", {});
}

// A type, a format or a handle that no kernel takes.
inline Finding invalid(const std::string& parameter, const std::string& expected, const std::string& got,
                       const std::string& fix = {}) {
    return refuse(ACLNN_ERR_PARAM_INVALID, parameter, expected, got, fix);
}

// Any other constraint.
inline Finding violated(const std::string& parameter, const std::string& expected, const std::string& got,
                        const std::string& fix = {}) {
    return refuse(ACLNN_ERR_INNER_TILING_ERROR, parameter, expected, got, fix);
}

inline Finding named(Finding finding, const char* id) {
    if (finding) finding->rule = id;
    return finding;
}

// What the profile allows and the target does not do is marked where the finding is made.
inline Finding target_limit(Finding finding) {
    if (finding) finding->is_target_limit = true;
    return finding;
}

// A whole call that the target does not compute.
inline Finding uncomputed(const std::string& expected, const std::string& got, const std::string& fix) {
    return target_limit(named(violated("the call", expected, got, fix), "HOST-X-01"));
}

// Keeps the problem as the calling thread's recent error and returns its code.
aclnnStatus fail(Problem problem) noexcept;

// What the calling thread was refused for last; null if it was for no rule.
const Problem* recent_problem() noexcept;
const char* recent_sentence() noexcept;

}  // namespace acl_attn::ops
