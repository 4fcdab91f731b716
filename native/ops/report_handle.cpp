// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/report_handle.h"

#include "runtime/handles.h"

namespace acl_attn::ops {

void describe(const Problem& problem, const char* message, aclAttnProblem* to) {
    *to = {problem.rule,        problem.parameter.c_str(), problem.expected.c_str(), problem.got.c_str(),
           problem.fix.c_str(), message,                   problem.code,             problem.accepted_by,
           problem.is_target_limit};
}

void KeptReport::read(int32_t index, aclAttnProblem* to) const {
    const Entry& entry = entries_[static_cast<size_t>(index)];
    describe(entry.problem, entry.message.c_str(), to);
}

aclAttnReport* publish(std::shared_ptr<KeptReport> report) {
    return static_cast<aclAttnReport*>(runtime::insert(runtime::Kind::report, std::move(report)));
}

}  // namespace acl_attn::ops
