// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What an aclAttnReport stands for, whichever operator it is about.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "acl_attn/rules.h"
#include "ops/finding.h"

namespace acl_attn::ops {

class KeptReport {
public:
    explicit KeptReport(uint32_t accepted_by) : accepted_by_(accepted_by) {}

    void add(Problem problem) {
        is_accepting_ = is_accepting_ && problem.is_target_limit;
        std::string message = problem.sentence();
        entries_.push_back({std::move(problem), std::move(message)});
    }

    bool is_accepting() const { return is_accepting_; }
    uint32_t accepted_by() const { return accepted_by_; }
    int32_t count() const { return static_cast<int32_t>(entries_.size()); }
    // An index in range. Strings live as long as the report.
    void read(int32_t index, aclAttnProblem* to) const;

private:
    struct Entry {
        Problem problem;
        std::string message;
    };
    std::vector<Entry> entries_;
    uint32_t accepted_by_;
    bool is_accepting_ = true;
};

aclAttnReport* publish(std::shared_ptr<KeptReport> report);

// The C interface's view of a problem, whose strings it points into.
void describe(const Problem& problem, const char* message, aclAttnProblem* to);

}  // namespace acl_attn::ops
