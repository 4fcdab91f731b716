// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/finding.h"

#include "ops/profile.h"
#include "runtime/last_error.h"

namespace acl_attn::ops {
namespace {

// Trivially destructible, so that it can still be read while a thread ends; the last problem of a thread is leaked to
// nobody: the owner below frees it.
thread_local Problem* recent = nullptr;
thread_local uint64_t recent_count = 0;
struct Owner {
    ~Owner() {
        delete recent;
        recent = nullptr;
    }
};
thread_local Owner owner;

}  // namespace

std::string Problem::sentence() const {
    std::string out = text(parameter, ": expected ", expected, ", got ", got);
    if (!fix.empty()) out += "; " + fix;
    if (accepted_by != 0) out += "; accepted under profile " + profile_names(accepted_by);
    if (*rule != '\0') out += text(" [", rule, "]");
    return out;
}

aclnnStatus fail(Problem problem) noexcept {
    const aclnnStatus code = problem.code;
    try {
        static_cast<void>(&owner);
        auto kept = std::make_unique<Problem>(std::move(problem));
        acl_attn::fail(code, kept->sentence());
        delete recent;
        recent = kept.release();
        recent_count = failure_count();
    } catch (...) {
        acl_attn::fail(code, {});
    }
    return code;
}

const Problem* recent_problem() noexcept { return recent_count == failure_count() ? recent : nullptr; }

}  // namespace acl_attn::ops
