// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Profiles, the catalogue and reports of acl_attn/rules.h.
#include "acl_attn/rules.h"

#include <cstring>
#include <string>

#include "meta/api.h"
#include "ops/fused_infer_attention_score/catalogue.h"
#include "ops/profile.h"
#include "ops/report_handle.h"
#include "runtime/api.h"
#include "runtime/device.h"

namespace {

using namespace acl_attn;
using ops::Profile;
using ops::Tier;
namespace fia = ops::fia;

static_assert(static_cast<int>(Profile::host) == ACL_ATTN_PROFILE_HOST &&
              static_cast<int>(Profile::ascend950) == ACL_ATTN_PROFILE_ASCEND950 &&
              static_cast<int>(Profile::ascend910b) == ACL_ATTN_PROFILE_ASCEND910B &&
              static_cast<int>(Profile::ascend910_93) == ACL_ATTN_PROFILE_ASCEND910_93 &&
              ops::kProfileCount == ACL_ATTN_PROFILE_COUNT);
static_assert(static_cast<int>(ops::Revision::page) == ACL_ATTN_RULES_PAGE &&
              static_cast<int>(ops::Revision::newest) == ACL_ATTN_RULES_NEWEST);

const char* stage_name(Tier tier) {
    switch (tier) {
        case Tier::front: return "front";
        case Tier::parser:
        case Tier::features: return "parser";
        case Tier::single: return "single";
        case Tier::existence: return "existence";
        case Tier::cross: return "cross";
        case Tier::consistency: return "consistency";
    }
    return "";
}

// The group is the beginning of an id: "MASK-C-06".
const char* group_name(const char* id) {
    static constexpr const char* kGroups[][2] = {
        {"API-", "FrontLayer"},      {"COM-", "Common"},          {"MASK-", "AttentionMask"}, {"ASL-", "ActualSeqLen"},
        {"PSE-", "PSE"},             {"DQN-", "Dequant"},         {"DQA-", "Antiquant"},      {"DQF-", "FullQuant"},
        {"PQ-", "PostQuant"},        {"PA-", "PagedAttention"},   {"LP-", "LeftPadding"},     {"PFX-", "SharedPrefix"},
        {"ROPE-", "Rope"},           {"SINK-", "LearnableSink"},  {"LSE-", "SoftmaxLSE"},     {"TPL-", "Template"},
        {"HOST-", "HostTarget"},
    };
    for (const auto& [prefix, name] : kGroups) {
        if (std::strncmp(id, prefix, std::strlen(prefix)) == 0) return name;
    }
    return "";
}

// The degree is the letter in an id's middle.
const char* degree_name(const char* id) {
    const char* letter = std::strchr(id, '-');
    switch (letter == nullptr ? '\0' : letter[1]) {
        case 'S': return "single";
        case 'E': return "existence";
        case 'C': return "consistency";
        case 'X': return "cross";
        default: return "";
    }
}

constexpr const char* kFia = "fused_infer_attention_score";

aclAttnRule rule_of(const ops::Rule<fia::Case>& rule) {
    return {kFia,           rule.id,   group_name(rule.id), degree_name(rule.id), stage_name(rule.tier),
            rule.parameter, rule.text, nullptr,             rule.scope.profiles,  rule.scope.revisions,
            fia::documented_status(rule)};
}

aclAttnRule rule_of(const fia::Absent& row) {
    return {kFia, row.id, group_name(row.id), degree_name(row.id), "", row.parameter, row.text, row.reason, 0, 0, 0};
}

size_t fia_count() { return fia::rule_count() + fia::kAbsentCount; }
aclAttnRule fia_at(size_t index) {
    const size_t rules = fia::rule_count();
    return index < rules ? rule_of(fia::rule_at(index)) : rule_of(fia::kAbsent[index - rules]);
}

// One entry an operator.
constexpr struct {
    size_t (*count)();
    aclAttnRule (*at)(size_t index);
} kCatalogues[] = {{fia_count, fia_at}};

bool is_profile(int number) { return number >= 0 && number < ACL_ATTN_PROFILE_COUNT; }

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
        if (!is_profile(profile)) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("profile: expected a value of aclAttnProfile, got ", static_cast<int>(profile)));
        }
        ops::set_profile(deviceId, static_cast<Profile>(profile));
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

int32_t aclAttnGetRuleCount(void) {
    size_t count = 0;
    for (const auto& catalogue : kCatalogues) count += catalogue.count();
    return static_cast<int32_t>(count);
}

aclError aclAttnGetRule(int32_t index, aclAttnRule* rule) {
    return runtime::entry("aclAttnGetRule", [&]() -> aclError {
        if (rule == nullptr) return runtime::null_result("rule");
        if (index < 0 || index >= aclAttnGetRuleCount()) {
            return fail(ACL_ERROR_INVALID_PARAM,
                        text("index: expected 0 to ", aclAttnGetRuleCount() - 1, ", got ", index));
        }
        size_t at = static_cast<size_t>(index);
        for (const auto& catalogue : kCatalogues) {
            if (at < catalogue.count()) {
                *rule = catalogue.at(at);
                break;
            }
            at -= catalogue.count();
        }
        return ACL_SUCCESS;
    });
}

bool aclAttnGetRecentProblem(aclAttnProblem* problem) {
    const ops::Problem* recent = ops::recent_problem();
    if (recent == nullptr || problem == nullptr) return false;
    ops::describe(*recent, ops::recent_sentence(), false, problem);
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
