// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/finding.h"

#include "ops/profile.h"
#include "runtime/last_error.h"

namespace acl_attn::ops {
namespace {

struct Recent {
    Problem problem;
    std::string sentence;
    uint64_t count;  // of failures, this one included
};

// A raw pointer, so that it can still be read while a thread ends and its owner is gone.
thread_local Recent* recent = nullptr;
struct Owner {
    ~Owner() {
        delete recent;
        recent = nullptr;
    }
};
thread_local Owner owner;

bool is_last_failure() noexcept { return recent != nullptr && recent->count == failure_count(); }

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
        std::string sentence = problem.sentence();
        auto kept = std::make_unique<Recent>(Recent{std::move(problem), sentence, 0});
        acl_attn::fail(code, std::move(sentence));
        kept->count = failure_count();
        delete recent;
        recent = kept.release();
    } catch (...) {
        acl_attn::fail(code, {});
    }
    return code;
}

const Problem* recent_problem() noexcept { return is_last_failure() ? &recent->problem : nullptr; }
const char* recent_sentence() noexcept { return is_last_failure() ? recent->sentence.c_str() : ""; }

}  // namespace acl_attn::ops
