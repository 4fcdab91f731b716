// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sim target on dav-2201: packed rows, for which it has no kernel, are refused in phase one, and a check reports it
// as the target's limit; how the task list shares a call out among cores does not change a bit of the result.
#include "sparse_runs.h"

using namespace sparse_call;

namespace {

constexpr const char* kLimit = "packed rows on dav-2201, which no kernel instantiation serves";

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

void test_cores() {
    Scenario s = dense();
    s.q = {1, 2};
    s.ori = {6000, 40};
    Prepared p(s);
    const auto output = [&] {
        CHECK_OK(p.make_metadata());
        runs(p);
        return output_of(p);
    };
    const std::vector<uint16_t> want = output();
    const std::vector<int32_t> whole = p.words;
    CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
    expect(output() == want && p.words != whole, "rows that are cut for several cores");
    CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    CHECK_OK(aclrtUseStreamResInCurrentThread(stream));
    expect(output() == want && p.words != whole, "one core");
    CHECK_OK(aclrtUnuseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtDestroyStream(stream));
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_served();
    test_refused();
    test_cores();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
