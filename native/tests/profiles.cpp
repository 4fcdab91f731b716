// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Whose rules calls are held against: how that is chosen, and what it means for what is accepted, for statuses and for
// messages.
#include <cstring>
#include <thread>

#include "acl_attn/acl_attn.h"
#include "acl_attn/rules.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v4.h"
#include "two_phase_call.h"

using namespace two_phase;

static aclAttnProfile profile() {
    aclAttnProfile found = ACL_ATTN_PROFILE_UNSET;
    CHECK_OK(aclAttnGetProfile(0, &found));
    return found;
}

static void test_choice() {
    CHECK_EQUAL(profile(), ACL_ATTN_PROFILE_HOST);  // by the environment
    for (int i = 0; i < ACL_ATTN_PROFILE_COUNT; ++i) {
        const auto each = static_cast<aclAttnProfile>(i);
        aclAttnProfile found = ACL_ATTN_PROFILE_UNSET;
        CHECK_OK(aclAttnFindProfile(aclAttnGetProfileName(each), &found));
        CHECK_EQUAL(found, each);
        CHECK_OK(aclAttnSetProfile(0, each));
        CHECK_EQUAL(profile(), each);
    }
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET));
    CHECK_EQUAL(profile(), ACL_ATTN_PROFILE_HOST);
    aclAttnProfile found = ACL_ATTN_PROFILE_UNSET;
    CHECK_FAILS(aclAttnFindProfile("Ascend950", &found), ACL_ERROR_INVALID_PARAM, "expected host, ascend950");
    CHECK_FAILS(aclAttnFindProfile(nullptr, &found), ACL_ERROR_INVALID_PARAM, "got null");
    CHECK_FAILS(aclAttnSetProfile(0, ACL_ATTN_PROFILE_COUNT), ACL_ERROR_INVALID_PARAM, "profile: ");
    CHECK(aclAttnSetProfile(7, ACL_ATTN_PROFILE_HOST) != 0 && aclAttnGetProfile(-1, &found) != 0);
    CHECK(aclAttnGetProfileName(ACL_ATTN_PROFILE_COUNT) == nullptr);
    CHECK(aclAttnGetProfileName(ACL_ATTN_PROFILE_UNSET) == nullptr);
    CHECK_EQUAL(aclAttnGetRules(), ACL_ATTN_RULES_PAGE);
    CHECK_OK(aclAttnSetRules(ACL_ATTN_RULES_NEWEST));
    CHECK_EQUAL(aclAttnGetRules(), ACL_ATTN_RULES_NEWEST);
    CHECK_FAILS(aclAttnSetRules(static_cast<aclAttnRules>(2)), ACL_ERROR_INVALID_PARAM, "rules: ");
    CHECK_OK(aclAttnSetRules(ACL_ATTN_RULES_UNSET));
    CHECK_EQUAL(aclAttnGetRules(), ACL_ATTN_RULES_PAGE);
}

// (B, N, S, D) with memory of its own.
struct Call {
    explicit Call(int64_t q_tokens, int64_t dim = 64) {
        const Dims q{2, 4, q_tokens, dim};
        const Dims kv{2, 2, 8, dim};
        a.query = objects.tensor(q, ACL_FLOAT16, data.data());
        a.key = objects.list({objects.tensor(kv, ACL_FLOAT16, data.data() + 16384)});
        a.value = objects.list({objects.tensor(kv, ACL_FLOAT16, data.data() + 32768)});
        a.attention_out = objects.tensor(q, ACL_FLOAT16, out.data());
        a.input_layout = "BNSD";
        a.num_heads = 4;
        a.num_key_value_heads = 2;
        a.scale_value = 0.125;
    }
    std::vector<uint16_t> data = std::vector<uint16_t>(65536, 0x3c00);
    std::vector<uint16_t> out = std::vector<uint16_t>(16384, 0);
    Objects objects;
    Arguments a;
};

static void test_choice_of_a_thread() {
    Call causal(4);  // for the host only
    causal.a.sparse_mode = 3;
    expect(call(causal.a) == 0, "the device's profile: " + recent_message());
    CHECK_OK(aclAttnSetThreadProfile(ACL_ATTN_PROFILE_ASCEND910B));
    const uint64_t settings = aclAttnGetSettings();
    CHECK_EQUAL(call(causal.a), 561002);
    CHECK_EQUAL(profile(), ACL_ATTN_PROFILE_HOST);  // the device's is as it was
    std::thread([&] {
        CHECK_OK(aclrtSetDevice(0));
        expect(call(causal.a) == 0, "another thread: " + recent_message());
        CHECK_OK(aclrtResetDevice(0));
    }).join();
    CHECK_FAILS(aclAttnSetThreadProfile(ACL_ATTN_PROFILE_COUNT), ACL_ERROR_INVALID_PARAM, "profile: ");
    CHECK_OK(aclAttnSetThreadProfile(ACL_ATTN_PROFILE_UNSET));
    CHECK(aclAttnGetSettings() != settings);
    expect(call(causal.a) == 0, "the device's profile again: " + recent_message());
}

static void test_refusal() {
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_ASCEND950));
    Call good(4);
    expect(call(good.a) == 0, "an ordinary call is fine everywhere: " + recent_message());
    aclAttnProblem problem{};
    CHECK(!aclAttnGetRecentProblem(&problem));

    Call causal(4);  // products want the mask of a formula as a tensor
    causal.a.sparse_mode = 3;
    CHECK_EQUAL(call(causal.a), 561002);
    CHECK(aclAttnGetRecentProblem(&problem));
    CHECK(std::strcmp(problem.rule, "MASK-S-04") == 0 && std::strcmp(problem.parameter, "attenMask") == 0);
    CHECK_EQUAL(problem.acceptedBy, 1u << ACL_ATTN_PROFILE_HOST);
    CHECK_EQUAL(problem.status, 561002);
    const std::string message = recent_message();
    expect(message == problem.message && message.find("accepted under profile host [MASK-S-04]") != std::string::npos,
           message);
    CHECK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_COUNT) != 0);  // a failure that breaks no rule
    CHECK(!aclAttnGetRecentProblem(&problem));
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_HOST));
    expect(call(causal.a) == 0, "accepted as promised: " + recent_message());

    // Wrong everywhere: no profile is named.
    Call wrong(4);
    wrong.a.inner_precise = 7;
    CHECK_EQUAL(call(wrong.a), 561002);
    CHECK(aclAttnGetRecentProblem(&problem) && problem.acceptedBy == 0);
    expect(recent_message().find("profile") == std::string::npos, "names none");
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET));
}

static aclnnStatus fourth_version(const Arguments& a) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    std::string layout = a.input_layout;
    const aclnnStatus status = aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
        a.query, a.key, a.value, nullptr, a.atten_mask, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, a.num_heads, a.scale_value, a.pre_tokens, a.next_tokens,
        layout.data(), a.num_key_value_heads, a.sparse_mode, a.inner_precise, 0, 0, false, 0, 0, 0, a.attention_out,
        nullptr, &size, &executor);
    if (status == 0) aclDestroyAclOpExecutor(executor);
    return status;
}

static void test_versions() {
    Call plain(4);
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_ASCEND950));
    CHECK_EQUAL(fourth_version(plain.a), 361001);
    for (const aclAttnProfile each :
         {ACL_ATTN_PROFILE_ASCEND910B, ACL_ATTN_PROFILE_ASCEND910_93, ACL_ATTN_PROFILE_HOST}) {
        CHECK_OK(aclAttnSetProfile(0, each));
        CHECK_OK(fourth_version(plain.a));
        expect(call(plain.a) == 0, "and the fifth, of newer software: " + recent_message());
    }
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET));
}

// A2 and A3 take single tokens for what they can see anyway: mode 0, without lengths of queries.
static void test_older_decode() {
    Call decode(1);
    decode.a.sparse_mode = 3;
    std::vector<uint8_t> mask(2 * 8, 0);
    decode.a.atten_mask = decode.objects.tensor({2, 1, 8}, ACL_BOOL, mask.data());
    decode.a.actual_seq_lengths = decode.objects.ints({0, 0});
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_ASCEND910B));
    expect(call(decode.a) == 0, "mode 3 with a mask of its own: " + recent_message());
    CHECK_EQUAL(decode.out[0], 0x3c00);  // computed, though its length was 0
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_ASCEND950));
    CHECK(call(decode.a) != 0);
    CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET));
}

static void test_reports() {
    Call several(4);
    several.a.sparse_mode = 3;
    several.a.inner_precise = 7;
    aclAttnCheckOptions options{5, ACL_ATTN_PROFILE_ASCEND950, ACL_ATTN_RULES_UNSET, false};
    aclAttnReport* report = nullptr;
    CHECK_OK(several.a.check(&options, &report));
    CHECK_EQUAL(aclAttnGetReportCount(report), 2);
    CHECK(!aclAttnIsReportAccepting(report));
    aclAttnProblem problem{};
    CHECK_OK(aclAttnGetReportProblem(report, 0, &problem));
    CHECK(std::strcmp(problem.rule, "COM-S-13") == 0);
    CHECK_OK(aclAttnGetReportProblem(report, 1, &problem));
    CHECK(std::strcmp(problem.rule, "MASK-S-04") == 0);
    CHECK_FAILS(aclAttnGetReportProblem(report, 2, &problem), ACL_ERROR_INVALID_PARAM, "2 problems");
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_REPORT), 1);
    aclAttnDestroyReport(report);
    aclAttnDestroyReport(report);
    aclAttnDestroyReport(nullptr);
    CHECK_EQUAL(aclAttnGetReportCount(report), 0);
    CHECK_FAILS(aclAttnGetReportProblem(report, 0, &problem), ACL_ERROR_INVALID_PARAM, "a destroyed aclAttnReport");

    // A call that breaks nothing, and one that a product takes and the host target does not.
    Call good(4);
    CHECK_OK(good.a.check(nullptr, &report));
    CHECK(aclAttnIsReportAccepting(report) && aclAttnGetReportCount(report) == 0);
    CHECK_EQUAL(aclAttnGetReportAcceptedBy(report), (1u << ACL_ATTN_PROFILE_COUNT) - 1);
    aclAttnDestroyReport(report);
    options.lengthsHaveNoValues = true;
    CHECK_OK(good.a.check(&options, &report));
    CHECK(aclAttnIsReportAccepting(report));
    aclAttnDestroyReport(report);

    CHECK_FAILS(good.a.check(nullptr, static_cast<aclAttnReport**>(nullptr)), 161001, "report: ");
    options.version = 6;
    CHECK_FAILS(good.a.check(&options, &report), 161002, "options->version");
    options = {5, static_cast<aclAttnProfile>(4), ACL_ATTN_RULES_UNSET, false};
    CHECK_FAILS(good.a.check(&options, &report), 161002, "options->profile");
    options = {5, ACL_ATTN_PROFILE_UNSET, static_cast<aclAttnRules>(2), false};
    CHECK_FAILS(good.a.check(&options, &report), 161002, "options->rules");
}

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_choice();
    test_choice_of_a_thread();
    test_refusal();
    test_versions();
    test_older_decode();
    test_reports();
    expect(live_objects() == 0, "live objects: " + std::to_string(live_objects()));
    return check_result();
}
