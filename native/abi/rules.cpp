// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Profiles and reports of acl_attn/rules.h.
#include "acl_attn/rules.h"

#include <memory>

#include "meta/api.h"
#include "ops/profile.h"
#include "ops/report_handle.h"
#include "runtime/api.h"
#include "runtime/device.h"

namespace {

using namespace acl_attn;
using ops::Profile;

static_assert(static_cast<int>(Profile::host) == ACL_ATTN_PROFILE_HOST &&
              static_cast<int>(Profile::ascend950) == ACL_ATTN_PROFILE_ASCEND950 &&
              static_cast<int>(Profile::ascend910b) == ACL_ATTN_PROFILE_ASCEND910B &&
              static_cast<int>(Profile::ascend910_93) == ACL_ATTN_PROFILE_ASCEND910_93 &&
              ops::kProfileCount == ACL_ATTN_PROFILE_COUNT);
static_assert(static_cast<int>(ops::Revision::page) == ACL_ATTN_RULES_PAGE &&
              static_cast<int>(ops::Revision::newest) == ACL_ATTN_RULES_NEWEST);

bool is_profile(int number) { return number >= 0 && number < ACL_ATTN_PROFILE_COUNT; }

aclError no_profile(int number) {
    return fail(ACL_ERROR_INVALID_PARAM, text("profile: expected a value of aclAttnProfile, got ", number));
}

std::shared_ptr<ops::KeptReport> find_report(const aclAttnReport* report) {
    return runtime::find<ops::KeptReport>(runtime::Kind::report, report);
}

}  // namespace

extern "C" {

const char* aclAttnGetProfileName(aclAttnProfile profile) {
    return is_profile(profile) ? ops::profile_name(static_cast<Profile>(profile)) : nullptr;
}

aclError aclAttnFindProfile(const char* name, aclAttnProfile* profile) {
    return runtime::entry("aclAttnFindProfile", [&]() -> aclError {
        if (profile == nullptr) return runtime::null_result("profile");
        Profile found;
        if (name != nullptr && ops::find_profile(name, &found)) {
            *profile = static_cast<aclAttnProfile>(found);
            return ACL_SUCCESS;
        }
        return fail(ACL_ERROR_INVALID_PARAM, text("name: expected host, ascend950, ascend910b or ascend910_93, got ",
                                                  name == nullptr ? "null" : name));
    });
}

aclError aclAttnGetProfile(int32_t deviceId, aclAttnProfile* profile) {
    return runtime::entry("aclAttnGetProfile", [&]() -> aclError {
        if (profile == nullptr) return runtime::null_result("profile");
        if (const aclError error = runtime::check_device("deviceId", deviceId)) return error;
        *profile = static_cast<aclAttnProfile>(ops::profile_of(deviceId));
        return ACL_SUCCESS;
    });
}

aclError aclAttnSetProfile(int32_t deviceId, aclAttnProfile profile) {
    return runtime::entry("aclAttnSetProfile", [&]() -> aclError {
        if (const aclError error = runtime::check_device("deviceId", deviceId)) return error;
        if (profile == ACL_ATTN_PROFILE_UNSET) {
            ops::unset_profile(deviceId);
            return ACL_SUCCESS;
        }
        if (!is_profile(profile)) return no_profile(profile);
        ops::set_profile(deviceId, static_cast<Profile>(profile));
        return ACL_SUCCESS;
    });
}

aclError aclAttnSetThreadProfile(aclAttnProfile profile) {
    return runtime::entry("aclAttnSetThreadProfile", [&]() -> aclError {
        if (profile == ACL_ATTN_PROFILE_UNSET) {
            ops::unset_thread_profile();
            return ACL_SUCCESS;
        }
        if (!is_profile(profile)) return no_profile(profile);
        ops::set_thread_profile(static_cast<Profile>(profile));
        return ACL_SUCCESS;
    });
}

aclAttnRules aclAttnGetRules(void) { return static_cast<aclAttnRules>(ops::current_revision()); }

aclError aclAttnSetRules(aclAttnRules rules) {
    return runtime::entry("aclAttnSetRules", [&]() -> aclError {
        if (rules == ACL_ATTN_RULES_UNSET) {
            ops::unset_revision();
            return ACL_SUCCESS;
        }
        if (rules != ACL_ATTN_RULES_PAGE && rules != ACL_ATTN_RULES_NEWEST) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("rules: expected a value of aclAttnRules, got ", static_cast<int>(rules)));
        }
        ops::set_revision(static_cast<ops::Revision>(rules));
        return ACL_SUCCESS;
    });
}

bool aclAttnGetRecentProblem(aclAttnProblem* problem) {
    const ops::Problem* recent = ops::recent_problem();
    if (recent == nullptr || problem == nullptr) return false;
    ops::describe(*recent, ops::recent_sentence(), problem);
    return true;
}

bool aclAttnIsReportAccepting(const aclAttnReport* report) {
    const auto found = find_report(report);
    return found != nullptr && found->is_accepting();
}

int32_t aclAttnGetReportCount(const aclAttnReport* report) {
    const auto found = find_report(report);
    return found == nullptr ? 0 : found->count();
}

uint32_t aclAttnGetReportAcceptedBy(const aclAttnReport* report) {
    const auto found = find_report(report);
    return found == nullptr ? 0 : found->accepted_by();
}

aclError aclAttnGetReportProblem(const aclAttnReport* report, int32_t index, aclAttnProblem* problem) {
    return runtime::entry("aclAttnGetReportProblem", [&]() -> aclError {
        if (problem == nullptr) return runtime::null_result("problem");
        const auto found = find_report(report);
        if (found == nullptr) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("report: expected a live aclAttnReport, got ", runtime::describe_handle(report)));
        }
        if (index < 0 || index >= found->count()) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("index: expected one of the report's ", found->count(), " problems, got ", index));
        }
        found->read(index, problem);
        return ACL_SUCCESS;
    });
}

void aclAttnDestroyReport(aclAttnReport* report) {
    std::shared_ptr<ops::KeptReport> ended;
    if (report != nullptr) runtime::take(runtime::Kind::report, report, &ended);
}

}  // extern "C"
