// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rule of the sparse operators: calls that are one change away from a good one and are refused with the rule's
// id, and good ones. Runs under the profile and edition that the environment chose; a rule's calls are tried where it
// holds.
#include <map>
#include <set>

#include "acl_attn/rules.h"
#include "sparse_refused.h"

using namespace sparse_call;

namespace {

using A = Arguments;
const Scenario w = window(), d = dense(), c = selected();

std::map<std::string, std::set<int>> refused_rules;  // with the statuses that are asked for

// Either the operator or its metadata's producer: how to prepare a call, and how to ask what is wrong with it.
struct Functions {
    aclnnStatus (Arguments::*phase_one)(uint64_t*, aclOpExecutor**) const;
    aclnnStatus (Arguments::*check)(const aclAttnCheckOptions*, aclAttnReport**) const;
};
constexpr Functions kOperator{&Arguments::phase_one, &Arguments::check};
constexpr Functions kProducer{&Arguments::metadata_phase_one, &Arguments::metadata_check};

// The report's first problem is the one for which phase one refuses; a call that it takes has none, nor has one that
// lacks nothing but memory.
void check_report(const Prepared& p, const Functions& functions, const char* rule, const std::string& message) {
    if (p.a.is_strided_entry) return;  // the check takes strides from tensors only
    const std::string what = std::string(rule) + ", reported: ";
    aclAttnReport* report = nullptr;
    expect((p.a.*functions.check)(nullptr, &report) == 0, what + "a report");
    const bool is_fine = message.empty() || message.find("got a null address") != std::string::npos;
    expect(aclAttnIsReportAccepting(report) == is_fine, what + "a verdict");
    aclAttnProblem problem{};
    if (!is_fine && aclAttnGetReportProblem(report, 0, &problem) == 0) {
        const std::string accepted = "; accepted under profile ";
        std::string told = message;  // the recent error also says which profiles would take the call
        const size_t at = told.find(accepted);
        if (at != std::string::npos) told.erase(at, told.rfind(" [") - at);
        expect(told == problem.message, what + problem.message + " instead of " + told);
        expect((at != std::string::npos) == (aclAttnGetReportAcceptedBy(report) != 0), what + "profiles");
    }
    aclAttnDestroyReport(report);
}

void check_refused(const Refused& r, const Functions& functions) {
    refused_rules[r.rule].insert(r.status);
    if (!holds(r.scope)) return;
    Prepared p(r.from);
    r.change(p);
    const std::vector<int32_t> words = p.words;
    uint64_t size = 77;
    aclOpExecutor* executor = reinterpret_cast<aclOpExecutor*>(&size);
    const aclnnStatus got = (p.a.*functions.phase_one)(&size, &executor);
    const std::string message = recent_message();
    const std::string what = std::string(r.rule) + ": status " + std::to_string(got) + ", " + message;
    expect(got == r.status, what);
    if (got == 0) {
        aclDestroyAclOpExecutor(executor);
        return;
    }
    expect(message.rfind(std::string(r.parameter) + ": expected ", 0) == 0, what);
    expect(message.find(", got ") != std::string::npos, what);
    expect(
        message.size() > 2 && message.find(std::string("[") + r.rule + "]") == message.size() - std::strlen(r.rule) - 2,
        what);
    expect(size == 77 && executor == reinterpret_cast<aclOpExecutor*>(&size), what);
    expect(p.words == words, what);
    check_report(p, functions, r.rule, message);
}

// The call as it is, and its metadata, are fine.
void check_accepted(const char* scope, const Scenario& from, const Change& change, const char* what,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!holds(scope)) return;
    Prepared p(from);
    change(p);
    const aclnnStatus metadata = p.make_metadata();
    expect(metadata == 0, std::string(what) + ", metadata: " + (metadata == 0 ? "" : recent_message()), file, line);
    const aclnnStatus status = call(p.a);
    expect(status == 0, std::string(what) + ": " + (status == 0 ? "" : recent_message()), file, line);
    check_report(p, kOperator, what, "");
    check_report(p, kProducer, what, "");
}
void test_out_pointers() {
    for (const bool is_quantised : {false, true}) {
        if (is_quantised && holds("o")) continue;
        Scenario s;
        s.is_quantised = is_quantised;
        Prepared p(s);
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        CHECK_FAILS(p.a.phase_one(nullptr, &executor), 161001, is_quantised ? "[KVQ-001]" : "[SMLA-001]");
        CHECK_FAILS(p.a.phase_one(&size, nullptr), 161001, "executor: expected ");
        CHECK_FAILS(p.a.metadata_phase_one(nullptr, &executor), 561103, is_quantised ? "[KVQ-M01]" : "[SMLA-M01]");
        CHECK_FAILS(p.a.metadata_phase_one(&size, nullptr), 561103, "executor: expected ");
    }
    for (const char* id : {"SMLA-M01", "KVQ-M01"}) refused_rules[id].insert(561103);
}

// Questions that make no sense are refused themselves; options that are not about these operators do not matter.
void test_check_options() {
    for (const bool is_quantised : {false, true}) {
        Prepared p(is_quantised ? quantised(c) : c);
        for (const auto check : {&Arguments::check, &Arguments::metadata_check}) {
            CHECK_FAILS((p.a.*check)(nullptr, nullptr), 161001, "report: ");
            aclAttnReport* report = nullptr;
            aclAttnCheckOptions options{77, ACL_ATTN_PROFILE_COUNT, ACL_ATTN_RULES_UNSET, true};
            CHECK_FAILS((p.a.*check)(&options, &report), 161002, "options->profile: ");
            options.profile = ACL_ATTN_PROFILE_HOST;
            options.rules = static_cast<aclAttnRules>(2);
            CHECK_FAILS((p.a.*check)(&options, &report), 161002, "options->rules: ");
            expect(report == nullptr, "no report");
            options.rules = ACL_ATTN_RULES_NEWEST;
            CHECK_OK((p.a.*check)(&options, &report));
            expect(aclAttnIsReportAccepting(report), "a good call");
            aclAttnDestroyReport(report);
        }
    }
}

// Rows of other libraries are refused with what turns them into this operator's.
void test_rows_of_other_sizes() {
    if (holds("o")) return;
    for (const int64_t bytes : {512, 584, 608, 656}) {
        Prepared p(quantised(c));
        p.a.ori_kv = p.blank({6, 16, 1, bytes}, ACL_FLOAT8_E4M3FN);
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        CHECK_FAILS(p.a.phase_one(&size, &executor), 161002, "oriKv: expected shape with rows of 640 bytes, got ");
        CHECK_FAILS(p.a.phase_one(&size, &executor), 161002,
                    bytes == 512 ? "acl_attn.kvcache.pack " : "acl_attn.kvcache.from_foreign_rows ");
    }
}

// At the edges of what the rules allow. Every scenario and pair of layouts also is the base of some refusal.
void test_accepted() {
    for (const Scenario& s : {w, d, c}) {
        for (const aclDataType type : {ACL_BF16, ACL_FLOAT16}) {
            Scenario of_type = s;
            of_type.type = type;
            check_accepted("h9o", of_type, nothing, "TND, paged");
            check_accepted("h9o", packed(of_type), nothing, "TND, TND");
            check_accepted("h9o", unpacked(of_type), nothing, "BSND, BSND");
            of_type.is_packed_q = false;
            check_accepted("h9o", of_type, set(&A::return_softmax_lse, true), "BSND, paged, LSE");
        }
        check_accepted("h9", quantised(s), nothing, "packed rows");
        Scenario q_unpacked = quantised(s);
        q_unpacked.is_packed_q = false;
        check_accepted("h9", q_unpacked, nothing, "packed rows, BSND");
        check_accepted("h", quantised(s), set(&A::return_softmax_lse, true), "packed rows, LSE");
    }
    for (const int64_t heads : {1, 2, 128}) {
        Scenario s = w;
        s.heads = heads;
        check_accepted("h9o", s, nothing, "heads that are powers of two");
        s.heads = heads == 1 ? 3 : heads - 1;
        if (s.heads != 1) check_accepted("h9", s, nothing, "any number of heads");
        if (s.heads != 1) check_accepted("h", quantised(s), nothing, "any number of heads, packed rows");
    }
    for (const int64_t ratio : {1, 128}) {
        Scenario s = d;
        s.ratio = ratio;
        check_accepted("h9", s, nothing, "ratios of 1 and 128");
    }
    for (const int64_t size : {1, 1023, 1024}) {
        Scenario s = w;
        s.block_size = size;
        check_accepted(size == 1024 ? "h9o" : "h9", s, nothing, "block sizes of 1 to 1024");
        s.block_size = size == 1023 ? 1008 : 16;
        check_accepted("h9", quantised(s), nothing, "block sizes that 16 divides, packed rows");
    }
    Scenario odd = w;
    odd.block_size = 1500;
    check_accepted("h", odd, nothing, "larger blocks on the host");
    Scenario ratio = c;
    ratio.ratio = 300, ratio.ori = {700, 300};
    check_accepted("h", ratio, nothing, "larger ratios on the host");
    Scenario lists = c;
    lists.topk = 1;
    check_accepted("h9", lists, nothing, "lists of one entry");
    lists.topk = 1024;
    check_accepted("h9o", lists, nothing, "lists of 1024 entries");
    check_accepted("h9", w, both(to(&A::ori_win_left, -1), to(&A::ori_win_right, -1)), "windows without ends");
    check_accepted("h9", w, both(to(&A::ori_win_left, INT64_MAX), to(&A::ori_win_right, INT64_MAX)), "endless windows");
    check_accepted("h9", w, both(to(&A::ori_mask_mode, 3), both(to(&A::ori_win_left, -1), to(&A::ori_win_right, -1))),
                   "causal");
    check_accepted("h9", d, to(&A::cmp_mask_mode, 0), "compressed rows without a mask");
    check_accepted("hon", w, list_original, "listed original tokens");
    check_accepted("h9n", packed(w), list_original, "listed original tokens, packed");
    check_accepted(
        "h9n", c, [](Prepared& p) { p.a.cmp_mask_mode = 0, p.a.cmp_topk_length = p.ints({5, 1, 0}, {3, 1}); },
        "counted lists without a mask");
    check_accepted("h", c, none(&A::seqused_cmp_kv), "a compressed stream as long as its table (no metadata of it)");
    check_accepted("h9o", w, [](Prepared& p) { p.a.seqused_q = p.ints({1, 0}); }, "fewer queries than are stored");
    check_accepted("h9o", w, blank(&A::cmp_kv, {0, 16, 1, 512}, ACL_BF16), "an absent tensor without elements");
    check_accepted(
        "h9o", w,
        [](Prepared& p) {
            void* memory = p.exactly(6 * 17 * 512 * 2);
            p.a.ori_kv = p.objects.strided({6, 16, 1, 512}, {17 * 512, 512, 512, 1}, 0, 6 * 17 * 512, ACL_BF16, memory);
        },
        "gaps between blocks");
    check_accepted(
        "h9", quantised(w),
        [](Prepared& p) {
            p.a.is_strided_entry = true;
            p.a.ori_kv = p.tensor({6, 16, 1, 640}, ACL_FLOAT8_E4M3FN, p.exactly(6 * 20 * 640));
            p.a.ori_stride = 20 * 640;
        },
        "block strides as arguments");
    check_accepted("h9n", quantised(w), to(&A::ori_win_left, 50), "another window over packed rows");
}

// Every rule of the catalogue is broken by some call, which is answered with the status that the catalogue has.
void test_coverage() {
    // Those about the device: sparse_chips.cpp breaks two of them; no device can be made that has no cores (KVQ-M03).
    const std::set<std::string> of_device{"SMLA-M13", "KVQ-M03", "HOST-S-58"};
    std::map<std::string, std::set<int>> documented;
    for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
        aclAttnRule rule;
        expect(aclAttnGetRule(i, &rule) == 0, recent_message());
        if (std::strncmp(rule.op, "sparse_flash_mla", 16) != 0 && std::strncmp(rule.op, "kv_quant_", 9) != 0) continue;
        expect(*rule.group != '\0' && *rule.tier != '\0' && *rule.text != '\0', std::string("words of ") + rule.id);
        const bool is_late = std::strcmp(rule.stage, "run") == 0;  // sparse_values.cpp breaks those
        if (rule.absence == nullptr && !is_late) documented[rule.id].insert(rule.status);
    }
    expect(documented.size() > 130, "ids: " + std::to_string(documented.size()));
    for (const auto& [id, statuses] : documented) {
        if (of_device.count(id) != 0) continue;
        expect(refused_rules.count(id) == 1, "a call that breaks " + id);
        for (const int status : statuses) {
            expect(refused_rules[id].count(status) == 1, id + ": a call that gets " + std::to_string(status));
        }
    }
    for (const auto& [id, statuses] : refused_rules) {
        for (const int status : statuses) {
            expect(documented[id].count(status) == 1, id + ": the catalogue has " + std::to_string(status));
        }
    }
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    for (const Refused& r : kMainRefused) check_refused(r, kOperator);
    for (const Refused& r : kQuantRefused) check_refused(r, kOperator);
    for (const Refused& r : kMetadataRefused) check_refused(r, kProducer);
    for (const Refused& r : kQuantMetadataRefused) check_refused(r, kProducer);
    test_out_pointers();
    test_check_options();
    test_rows_of_other_sizes();
    test_accepted();
    test_coverage();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
