// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sim target on dav-2201 computes rows of the query's type and has no kernel for packed ones: they are refused in
// phase one, and a check reports it as the target's limit.
#include "sparse_call.h"

using namespace sparse_call;

namespace {

constexpr const char* kLimit = "no kernel instantiation serves packed rows on dav-2201";

void test_served() {
    for (const Scenario& s : {window(), dense(), selected()}) {
        Prepared p(s);
        CHECK_OK(p.make_metadata());
        CHECK_OK(call(p.a));
        aclAttnReport* report = nullptr;
        CHECK_OK(p.a.check(nullptr, &report));
        expect(aclAttnGetReportCount(report) == 0, "nothing to report");
        aclAttnDestroyReport(report);
    }
}

void test_refused() {
    for (const Scenario& s : {window(), dense(), selected()}) {
        Prepared p(quantised(s));
        CHECK_OK(p.make_metadata());
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        CHECK_FAILS(p.a.phase_one(&size, &executor), 561002, kLimit);
        aclAttnReport* report = nullptr;
        CHECK_OK(p.a.check(nullptr, &report));
        aclAttnProblem problem{};
        expect(aclAttnGetReportProblem(report, 0, &problem) == 0 && problem.isTargetLimit &&
                   std::strstr(problem.message, kLimit) != nullptr && aclAttnIsReportAccepting(report),
               "a limit of the target, no broken rule");
        aclAttnDestroyReport(report);
    }
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_served();
    test_refused();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
