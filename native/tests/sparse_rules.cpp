// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rule of the sparse operators: calls that are one change away from a good one and are refused with the rule's
// id, and good ones. Runs under the profile and edition that the environment chose; a rule's calls are tried where it
// holds.
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "acl_attn/rules.h"
#include "sparse_call.h"

using namespace sparse_call;

namespace {

using Change = std::function<void(Prepared&)>;

// Whose rule it is: letters of profiles h(ost), 9(50), o(lder); then p(age) or n(ewest) if only one edition has it.
bool holds(const std::string& scope) {
    const char* profile = std::getenv("ACL_ATTN_PROFILE");
    const char* edition = std::getenv("ACL_ATTN_RULES");
    const std::string name = profile == nullptr ? "ascend950" : profile;
    const bool is_newest = edition != nullptr && std::strcmp(edition, "newest") == 0;
    const char letter = name == "host" ? 'h' : name == "ascend950" ? '9' : 'o';
    if (scope.find(letter) == std::string::npos) return false;
    if (letter == 'h') return true;
    if (scope.find('p') != std::string::npos) return !is_newest;
    return scope.find('n') == std::string::npos || is_newest;
}

std::map<std::string, std::set<int>> refused_rules;  // with the statuses that are asked for

struct Refused {
    const char* rule;
    const char* scope;
    Scenario from;
    Change change;
    const char* parameter;
    int status = 161002;
};

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

// A change of a member to a value.
template <class Value>
Change set(Value Arguments::* member, Value value) {
    return [=](Prepared& p) { p.a.*member = value; };
}
Change none(T Arguments::* member) { return set<T>(member, nullptr); }
Change to(int64_t Arguments::* member, int64_t value) { return set<int64_t>(member, value); }
Change blank(T Arguments::* member, Dims dims, aclDataType type = ACL_INT32) {
    return [=](Prepared& p) { p.a.*member = p.blank(dims, type); };
}
Change both(Change a, Change b) {
    return [=](Prepared& p) { a(p), b(p); };
}
void nothing(Prepared&) {}

T dead_tensor() {
    static int32_t data = 0;
    const int64_t dims[] = {1};
    T made = aclCreateTensor(dims, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, dims, 1, &data);
    aclDestroyTensor(made);
    return made;
}

// Original tokens listed for each row, without a mask; the newest edition's.
void list_original(Prepared& p) {
    p.a.ori_mask_mode = 0;
    p.a.ori_win_left = p.a.ori_win_right = holds("o") ? 0 : -1;
    p.a.ori_topk = 3;
    p.a.ori_sparse_indices = p.ints({0, 1, 2, 3, -1, -1, 4, 5, 6}, {3, 1, 3});
    p.a.ori_topk_length = p.ints({3, 2, 1}, {3, 1});
}

using A = Arguments;
const Scenario w = window(), d = dense(), c = selected();

const Refused kMain[] = {
    {"SMLA-001", "h9o", c, none(&A::q), "q", 161001},
    {"SMLA-001", "h9o", c, none(&A::attn_out), "attnOut", 161001},
    {"SMLA-002", "h9o", c, both(set(&A::return_softmax_lse, true), none(&A::softmax_lse)), "softmaxLse", 161001},
    {"HOST-F-51", "h9o", c, [](Prepared& p) { p.a.q = dead_tensor(); }, "q"},
    {"HOST-F-51", "h9o", c, [](Prepared& p) { p.a.cmp_topk_length = dead_tensor(); }, "cmpTopkLength"},
    {"HOST-F-51", "h9o", c, [](Prepared& p) { p.a.attn_out = dead_tensor(); }, "attnOut"},
    {"SMLA-003", "h9o", c, blank(&A::q, {3, 64, 512}, ACL_FLOAT), "q"},
    {"SMLA-004", "h9o", c, blank(&A::ori_kv, {6, 16, 1, 512}, ACL_FLOAT), "oriKv"},
    {"SMLA-004", "h9o", c, blank(&A::cmp_kv, {2, 16, 1, 512}, ACL_INT8), "cmpKv"},
    {"SMLA-005", "h9o", c, blank(&A::q, {1, 3, 64, 512}, ACL_BF16), "q"},
    {"SMLA-005", "h9o", unpacked(w), blank(&A::q, {4, 64, 512}, ACL_BF16), "q"},
    {"SMLA-005", "h9o", c, blank(&A::ori_kv, {96, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-006", "9o", w, blank(&A::q, {0, 64, 512}, ACL_BF16), "q"},
    {"SMLA-006", "9o", c, blank(&A::cmp_sparse_indices, {3, 1, 0}), "cmpSparseIndices"},
    {"SMLA-006", "9o", c, blank(&A::ori_kv, {0, 16, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-007", "h9o", c, set<std::string>(&A::layout_q, "BNSD"), "layoutQ"},
    {"SMLA-007", "h9o", c, set<std::string>(&A::layout_kv, "PA_ND"), "layoutKv"},
    {"SMLA-008", "h9", c, set(&A::softmax_scale, std::numeric_limits<double>::infinity()), "softmaxScale"},
    {"SMLA-008", "h9", c, set(&A::softmax_scale, std::numeric_limits<double>::quiet_NaN()), "softmaxScale"},
    {"SMLA-008", "h9", c, set(&A::softmax_scale, 1e39), "softmaxScale"},
    {"SMLA-009", "h9o", c, to(&A::topk_value_mode, 2), "topkValueMode"},
    {"SMLA-009", "h9o", c, to(&A::topk_value_mode, 0), "topkValueMode"},
    {"SMLA-010", "9", c, to(&A::cmp_ratio, 0), "cmpRatio"},
    {"SMLA-010", "9", c, to(&A::cmp_ratio, 129), "cmpRatio"},
    {"HOST-S-51", "h", c, to(&A::cmp_ratio, 0), "cmpRatio"},
    {"HOST-S-51", "h", c, to(&A::cmp_ratio, INT64_MAX), "cmpRatio"},
    {"SMLA-011", "h9", c, to(&A::ori_mask_mode, 2), "oriMaskMode"},
    {"SMLA-012", "h9", c, to(&A::cmp_mask_mode, 4), "cmpMaskMode"},
    {"SMLA-013", "h9o", c, to(&A::ori_win_left, -2), "oriWinLeft"},
    {"SMLA-013", "h9o", c, to(&A::ori_win_right, INT64_MIN), "oriWinRight"},
    {"SMLA-014", "h9o", c, blank(&A::cmp_sparse_indices, {3, 1, 512}, ACL_INT64), "cmpSparseIndices"},
    {"SMLA-014", "h9o", c, blank(&A::cmp_sparse_indices, {3, 512}), "cmpSparseIndices"},
    {"SMLA-014", "h9o", unpacked(c), blank(&A::cmp_sparse_indices, {4, 1, 512}), "cmpSparseIndices"},
    {"SMLA-015", "h9o", c, blank(&A::cu_seqlens_q, {3}, ACL_INT64), "cuSeqlensQ"},
    {"SMLA-015", "h9o", c, blank(&A::seqused_ori_kv, {2, 1}), "sequsedOriKv"},
    {"SMLA-015", "h9o", c, blank(&A::cmp_residual_kv, {2}, ACL_FLOAT), "cmpResidualKv"},
    {"SMLA-016", "h9o", c, blank(&A::ori_block_table, {2, 3}, ACL_INT64), "oriBlockTable"},
    {"SMLA-016", "h9o", c, blank(&A::cmp_block_table, {6}), "cmpBlockTable"},
    {"SMLA-017", "h9o", c, blank(&A::sinks, {64}, ACL_BF16), "sinks"},
    {"SMLA-017", "h9o", c, blank(&A::sinks, {64, 1}, ACL_FLOAT), "sinks"},
    {"SMLA-018", "h9o", c, blank(&A::metadata, {1023}), "metadata"},
    {"SMLA-018", "h9o", c, blank(&A::metadata, {1024}, ACL_UINT32), "metadata"},
    {"SMLA-019", "h9o", c, blank(&A::cmp_topk_length, {3}), "cmpTopkLength"},
    {"SMLA-020", "h9o", c, none(&A::ori_kv), "oriKv"},
    {"SMLA-021", "h9o", c, none(&A::sinks), "sinks"},
    {"SMLA-022", "h9o", c, none(&A::metadata), "metadata"},
    {"SMLA-023", "h9o", c, none(&A::cu_seqlens_q), "cuSeqlensQ"},
    {"SMLA-024", "h9o", unpacked(w), blank(&A::cu_seqlens_q, {3}), "cuSeqlensQ"},
    {"SMLA-025", "h9o", packed(c), none(&A::cu_seqlens_ori_kv), "cuSeqlensOriKv"},
    {"SMLA-025", "h9o", packed(c), none(&A::cu_seqlens_cmp_kv), "cuSeqlensCmpKv"},
    {"SMLA-026", "h9", c, blank(&A::cu_seqlens_ori_kv, {3}), "cuSeqlensOriKv"},
    {"SMLA-027", "h9o", c, none(&A::ori_block_table), "oriBlockTable"},
    {"SMLA-028", "h9o", c, none(&A::seqused_ori_kv), "sequsedOriKv"},
    {"SMLA-029", "h9o", c, none(&A::cmp_block_table), "cmpBlockTable"},
    {"SMLA-030", "9", c, none(&A::seqused_cmp_kv), "sequsedCmpKv"},
    {"SMLA-031", "h9", packed(w), blank(&A::ori_block_table, {2, 3}), "oriBlockTable"},
    {"SMLA-032", "h9o", w, blank(&A::cmp_sparse_indices, {3, 1, 512}), "cmpSparseIndices"},
    {"SMLA-033", "h9", w, blank(&A::cmp_residual_kv, {2}), "cmpResidualKv"},
    {"SMLA-033", "h9", w, blank(&A::seqused_cmp_kv, {2}), "sequsedCmpKv"},
    {"SMLA-034", "h9o", c, none(&A::cmp_residual_kv), "cmpResidualKv"},
    {"SMLA-035", "9n", packed(w), both(list_original, none(&A::ori_topk_length)), "oriTopkLength"},
    {"SMLA-036", "9n", packed(c), to(&A::cmp_mask_mode, 0), "cmpTopkLength"},
    {"SMLA-037", "on", c, blank(&A::cmp_topk_length, {3, 1}), "cmpTopkLength"},
    {"SMLA-038", "on", c, blank(&A::ori_sparse_indices, {3, 1, 8}), "oriSparseIndices"},
    {"SMLA-038", "on", w, both(list_original, none(&A::ori_topk_length)), "oriTopkLength"},
    {"SMLA-038", "on", w, blank(&A::ori_topk_length, {3, 1}), "oriTopkLength"},
    {"SMLA-039", "9op", w, list_original, "oriSparseIndices"},
    {"SMLA-039", "9op", c, blank(&A::cmp_topk_length, {3, 1}), "cmpTopkLength"},
    {"HOST-E-51", "h9n", w, blank(&A::ori_topk_length, {3, 1}), "oriTopkLength"},
    {"HOST-E-51", "h9n", d, blank(&A::cmp_topk_length, {3, 1}), "cmpTopkLength"},
    {"SMLA-040", "h9o", packed(w),
     both(set<std::string>(&A::layout_kv, "BSND"),
          both(blank(&A::ori_kv, {2, 40, 1, 512}, ACL_BF16), none(&A::cu_seqlens_ori_kv))),
     "layoutKv"},
    {"SMLA-041", "h9o", c, blank(&A::q, {3, 64, 576}, ACL_BF16), "q"},
    {"SMLA-041", "h9o", c, blank(&A::cmp_kv, {2, 16, 1, 640}, ACL_BF16), "cmpKv"},
    {"SMLA-042", "h9o", c, blank(&A::ori_kv, {6, 16, 2, 512}, ACL_BF16), "oriKv"},
    {"SMLA-043", "9", w, blank(&A::q, {3, 129, 512}, ACL_BF16), "q"},
    {"HOST-S-53", "h", w, blank(&A::q, {3, 129, 512}, ACL_BF16), "q"},
    {"SMLA-044", "o", w, blank(&A::q, {3, 48, 512}, ACL_BF16), "q"},
    {"SMLA-047", "o", w, blank(&A::ori_kv, {12, 8, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-047", "o", w, blank(&A::ori_kv, {1, 1040, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-048", "9", w, blank(&A::ori_kv, {1, 1025, 1, 512}, ACL_BF16), "oriKv"},
    {"HOST-S-55", "h", w, blank(&A::ori_kv, {4, 0, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-049", "o", w, to(&A::ori_win_left, 126), "oriMaskMode"},
    {"SMLA-050", "on", w, both(list_original, to(&A::ori_win_left, -1)), "oriMaskMode"},
    {"SMLA-051", "o", d, to(&A::cmp_mask_mode, 0), "cmpMaskMode"},
    {"SMLA-052", "h9", w, to(&A::ori_mask_mode, 3), "oriWinLeft"},
    {"HOST-X-54", "h9n", w, both(list_original, to(&A::ori_mask_mode, 3)), "oriMaskMode"},
    {"SMLA-053", "9", w, to(&A::cmp_mask_mode, 3), "cmpMaskMode"},
    {"SMLA-053", "9", w, to(&A::cmp_ratio, 4), "cmpRatio"},
    {"SMLA-054", "o", c, to(&A::cmp_ratio, 128), "cmpRatio"},
    {"SMLA-054", "o", d, to(&A::cmp_ratio, 4), "cmpRatio"},
    {"SMLA-054", "o", w, to(&A::cmp_ratio, 4), "cmpRatio"},
    {"SMLA-055", "o", c, blank(&A::cmp_sparse_indices, {3, 1, 256}), "cmpSparseIndices"},
    {"SMLA-056", "h", c, blank(&A::cmp_sparse_indices, {3, 1, 0}), "cmpSparseIndices"},
    {"SMLA-058", "h9o", c, blank(&A::q, {3, 64, 512}, ACL_FLOAT16), "oriKv"},
    {"SMLA-058", "h9o", c, blank(&A::attn_out, {3, 64, 512}, ACL_FLOAT16), "attnOut"},
    {"SMLA-059", "h9o", c, blank(&A::attn_out, {3, 512, 64}, ACL_BF16), "attnOut"},
    {"SMLA-060", "h9o", unpacked(w), blank(&A::ori_kv, {3, 40, 1, 512}, ACL_BF16), "oriKv"},
    {"SMLA-061", "h9o", c, blank(&A::seqused_ori_kv, {3}), "sequsedOriKv"},
    {"SMLA-061", "h9o", c, blank(&A::cmp_residual_kv, {1}), "cmpResidualKv"},
    {"SMLA-061", "h9o", packed(w), blank(&A::cu_seqlens_ori_kv, {4}), "cuSeqlensOriKv"},
    {"SMLA-061", "h9o", w, blank(&A::cu_seqlens_q, {1}), "cuSeqlensQ"},
    {"SMLA-062", "h9o", c, blank(&A::ori_block_table, {3, 3}), "oriBlockTable"},
    {"SMLA-063", "h9o", c, blank(&A::sinks, {63}, ACL_FLOAT), "sinks"},
    {"SMLA-064", "h9o", c, blank(&A::cmp_sparse_indices, {4, 1, 512}), "cmpSparseIndices"},
    {"SMLA-065", "h9o", c, both(set(&A::return_softmax_lse, true), blank(&A::softmax_lse, {3, 64}, ACL_FLOAT)),
     "softmaxLse"},
    {"SMLA-065", "h9o", c, both(set(&A::return_softmax_lse, true), blank(&A::softmax_lse, {1, 3, 64}, ACL_FLOAT16)),
     "softmaxLse"},
    {"SMLA-066", "9o", w,
     [](Prepared& p) {
         p.a.ori_kv = p.objects.strided({6, 16, 1, 512}, {16384, 1024, 512, 1}, 0, 6 * 16384, ACL_BF16,
                                        p.exactly(6 * 16384 * 2));
     },
     "oriKv"},
    {"HOST-C-55", "h9o", w,
     [](Prepared& p) {
         p.a.attn_out = p.objects.strided({3, 64, 512}, {65536, 512, 1}, 0, 3 * 65536, ACL_BF16,
                                          p.exactly(3 * 65536 * 2));
     },
     "attnOut"},
    {"HOST-C-52", "h9o", w, [](Prepared& p) { p.a.sinks = p.tensor({64}, ACL_FLOAT, nullptr); }, "sinks"},
    {"HOST-C-52", "h9o", w,
     [](Prepared& p) {
         p.a.sinks = p.tensor({64}, ACL_FLOAT, static_cast<char*>(p.exactly(260)) + 2);
     },
     "sinks"},
    {"HOST-C-53", "h9o", w, [](Prepared& p) { p.a.attn_out = p.tensor({3, 64, 512}, ACL_BF16, p.q_data); }, "attnOut"},
};

const Refused kQuant[] = {
    {"KVQ-001", "h9", quantised(c), none(&A::q), "q", 161001},
    {"KVQ-001", "h9", quantised(c), none(&A::attn_out), "attnOut", 161001},
    {"KVQ-001", "h9", quantised(c), none(&A::softmax_lse), "softmaxLse", 161001},
    {"KVQ-002", "o", quantised(c), nothing, "device"},
    {"KVQ-003", "h9", quantised(c), blank(&A::q, {3, 64, 512}, ACL_FLOAT16), "q"},
    {"KVQ-003", "h9", quantised(c), blank(&A::q, {3, 1, 64, 512}, ACL_BF16), "q"},
    {"KVQ-003", "9", quantised(c), blank(&A::q, {0, 64, 512}, ACL_BF16), "q"},
    {"KVQ-004", "h9", quantised(c), blank(&A::ori_kv, {6, 16, 1, 640}, ACL_INT8), "oriKv"},
    {"KVQ-004", "h9", quantised(c), blank(&A::cmp_kv, {96, 1, 640}, ACL_FLOAT8_E4M3FN), "cmpKv"},
    {"KVQ-005", "h9", quantised(c), to(&A::kv_quant_mode, 2), "kvQuantMode"},
    {"KVQ-006", "h9", quantised(c), to(&A::tile_size, 128), "tileSize"},
    {"KVQ-007", "h9", quantised(c), to(&A::rope_head_dim, 0), "ropeHeadDim"},
    {"KVQ-008", "h9", quantised(c), set<std::string>(&A::layout_q, "BSH"), "layoutQ"},
    {"KVQ-009", "h9", quantised(c), set<std::string>(&A::layout_kv, "TND"), "layoutKv"},
    {"KVQ-009", "h9", quantised(c), set<std::string>(&A::layout_kv, "PA_BBND"), "layoutKv"},
    {"HOST-S-56", "h9", quantised(c), set(&A::softmax_scale, -std::numeric_limits<double>::infinity()), "softmaxScale"},
    {"KVQ-010", "h9", quantised(c), to(&A::ori_mask_mode, 3), "oriMaskMode"},
    {"KVQ-010", "h9", quantised(c), to(&A::cmp_mask_mode, 0), "cmpMaskMode"},
    {"KVQ-011", "9p", quantised(c), to(&A::ori_win_left, 100), "oriWinLeft"},
    {"KVQ-011", "h9", quantised(c), to(&A::ori_win_left, -1), "oriWinLeft"},
    {"KVQ-011", "h9", quantised(c), to(&A::ori_win_right, 1), "oriWinRight"},
    {"HOST-S-57", "h9", quantised(c), both(set(&A::is_strided_entry, true), to(&A::ori_stride, -1)), "oriKvStride0"},
    {"HOST-S-52", "h9", quantised(c), both(set(&A::is_strided_entry, true), to(&A::cmp_stride, INT64_MAX)), "cmpKv"},
    {"KVQ-012", "h9", quantised(c), blank(&A::cmp_sparse_indices, {3, 512}), "cmpSparseIndices"},
    {"KVQ-013", "h9", quantised(c), blank(&A::cmp_block_table, {2, 1}, ACL_INT64), "cmpBlockTable"},
    {"KVQ-014", "h9", quantised(c), blank(&A::sinks, {64}, ACL_BF16), "sinks"},
    {"KVQ-014", "h9", quantised(c), blank(&A::seqused_ori_kv, {2}, ACL_INT64), "sequsedKv"},
    {"KVQ-020", "h9", quantised(c), none(&A::ori_kv), "oriKv"},
    {"KVQ-021", "h9", quantised(c), none(&A::sinks), "sinks"},
    {"KVQ-022", "h9", quantised(c), none(&A::metadata), "metadata"},
    {"KVQ-022", "h9", quantised(c), blank(&A::metadata, {512}), "metadata"},
    {"KVQ-023", "h9", quantised(c), none(&A::cu_seqlens_q), "cuSeqlensQ"},
    {"KVQ-024", "h9", quantised(c), none(&A::seqused_ori_kv), "sequsedKv"},
    {"KVQ-025", "h9", quantised(c), none(&A::ori_block_table), "oriBlockTable"},
    {"KVQ-026", "h9", quantised(c), none(&A::cmp_block_table), "cmpBlockTable"},
    {"KVQ-026", "h9", quantised(w), blank(&A::cmp_block_table, {2, 1}), "cmpBlockTable"},
    {"KVQ-027", "h9", quantised(w), blank(&A::cmp_sparse_indices, {3, 1, 512}), "cmpSparseIndices"},
    {"KVQ-028", "h9", quantised(c), blank(&A::cu_seqlens_ori_kv, {3}), "cuSeqlensOriKv"},
    {"KVQ-029", "h9", quantised(c), blank(&A::ori_sparse_indices, {3, 1, 8}), "oriSparseIndices"},
    {"HOST-E-52", "9", quantised(c), set(&A::return_softmax_lse, true), "returnSoftmaxLse"},
    {"KVQ-030", "9", quantised(c), blank(&A::q, {3, 32, 512}, ACL_BF16), "q"},
    {"KVQ-030", "h9", quantised(c), blank(&A::ori_kv, {6, 16, 2, 640}, ACL_FLOAT8_E4M3FN), "oriKv"},
    {"KVQ-031", "h9", quantised(c), blank(&A::q, {3, 64, 448}, ACL_BF16), "q"},
    {"KVQ-031", "h9", quantised(c), blank(&A::ori_kv, {6, 16, 1, 512}, ACL_FLOAT8_E4M3FN), "oriKv"},
    {"KVQ-031", "h9", quantised(c), blank(&A::ori_kv, {6, 16, 1, 584}, ACL_FLOAT8_E4M3FN), "oriKv"},
    {"KVQ-031", "h9", quantised(c), blank(&A::ori_kv, {6, 16, 1, 608}, ACL_FLOAT8_E4M3FN), "oriKv"},
    {"KVQ-031", "h9", quantised(c), blank(&A::cmp_kv, {6, 16, 1, 656}, ACL_FLOAT8_E4M3FN), "cmpKv"},
    {"KVQ-032", "9", quantised(w), blank(&A::ori_kv, {12, 8, 1, 640}, ACL_FLOAT8_E4M3FN), "oriKv"},
    {"KVQ-033", "9", quantised(c), to(&A::cmp_ratio, 8), "cmpRatio"},
    {"KVQ-033", "9", quantised(w), to(&A::cmp_ratio, 2), "cmpRatio"},
    {"HOST-S-51", "h", quantised(c), to(&A::cmp_ratio, -4), "cmpRatio"},
    {"KVQ-034", "9", quantised(c), blank(&A::cmp_sparse_indices, {3, 1, 128}), "cmpSparseIndices"},
    {"KVQ-034", "h", quantised(c), blank(&A::cmp_sparse_indices, {3, 1, 0}), "cmpSparseIndices"},
    {"KVQ-040", "h9", quantised(c), blank(&A::cmp_kv, {2, 16, 1, 640}, ACL_HIFLOAT8), "cmpKv"},
    {"KVQ-041", "h9", quantised(c), blank(&A::cmp_sparse_indices, {2, 1, 512}), "cmpSparseIndices"},
    {"KVQ-042", "h9", quantised(c), blank(&A::seqused_ori_kv, {3}), "sequsedKv"},
    {"KVQ-042", "h9", quantised(c), blank(&A::ori_block_table, {1, 3}), "oriBlockTable"},
    {"KVQ-043", "h9", quantised(c), blank(&A::sinks, {128}, ACL_FLOAT), "sinks"},
    {"KVQ-044", "h9", quantised(c), blank(&A::attn_out, {3, 64, 448}, ACL_BF16), "attnOut"},
    {"HOST-C-56", "h", quantised(c),
     both(set(&A::return_softmax_lse, true), blank(&A::softmax_lse, {3, 64, 1}, ACL_FLOAT)), "softmaxLse"},
};

const Refused kMetadata[] = {
    {"SMLA-M24", "h9o", c, none(&A::metadata), "metaData", 161001},
    {"HOST-F-51", "h9o", c, [](Prepared& p) { p.a.seqused_q = dead_tensor(); }, "sequsedQ"},
    {"SMLA-M02", "h9o", c, to(&A::batch, -1), "batchSize"},
    {"SMLA-M02", "h9o", c, to(&A::max_q, int64_t{1} << 40), "maxSeqlenQ"},
    {"SMLA-M03", "h9o", c, to(&A::heads, 0), "numHeadsQ"},
    {"SMLA-M03", "h9o", c, to(&A::heads, 129), "numHeadsQ"},
    {"SMLA-M03", "h9o", c, to(&A::kv_heads, 2), "numHeadsKv"},
    {"SMLA-M03", "o", c, to(&A::heads, 48), "numHeadsQ"},
    {"SMLA-M04", "h9o", c, to(&A::head_dim, 576), "headDim"},
    {"SMLA-M05", "h9o", w, to(&A::ori_topk, -1), "oriTopk"},
    {"SMLA-M05", "o", c, to(&A::ori_topk, 16), "oriTopk"},
    {"SMLA-M06", "h9", w, to(&A::ori_mask_mode, 1), "oriMaskMode"},
    {"SMLA-M06", "h9", w, to(&A::ori_win_right, -2), "oriWinRight"},
    {"SMLA-M07", "o", w, to(&A::ori_win_left, 128), "oriMaskMode"},
    {"SMLA-M07", "o", w, to(&A::ori_topk, 16), "oriMaskMode"},
    {"SMLA-M08", "h9o", c, to(&A::cmp_topk, -512), "cmpTopk"},
    {"SMLA-M08", "o", c, to(&A::cmp_topk, 256), "cmpTopk"},
    {"SMLA-M09", "h9", c, to(&A::cmp_mask_mode, 4), "cmpMaskMode"},
    {"SMLA-M09", "o", c, to(&A::cmp_mask_mode, 0), "cmpMaskMode"},
    {"SMLA-M10", "9", c, to(&A::cmp_ratio, 129), "cmpRatio"},
    {"SMLA-M10", "o", c, to(&A::cmp_ratio, 128), "cmpRatio"},
    {"HOST-S-51", "h", c, to(&A::cmp_ratio, 0), "cmpRatio"},
    {"SMLA-M11", "h9o", c, set(&A::has_layout_q, false), "layoutQ"},
    {"SMLA-M11", "h9o", c, set<std::string>(&A::layout_kv, "BSND"), "layoutKv"},
    {"SMLA-M11", "h9o", c, set<std::string>(&A::layout_q, "NTD"), "layoutQ"},
    {"SMLA-M12", "9o", unpacked(w), to(&A::max_q, 0), "maxSeqlenQ"},
    {"SMLA-M12", "9o", unpacked(w), to(&A::max_ori, 0), "maxSeqlenOriKv"},
    {"SMLA-M12", "9o", unpacked(c), to(&A::max_cmp, 0), "maxSeqlenCmpKv"},
    {"SMLA-M20", "h9o", c, none(&A::cu_seqlens_q), "cuSeqlensQ"},
    {"SMLA-M20", "h9o", packed(c), none(&A::cu_seqlens_cmp_kv), "cuSeqlensCmpKv"},
    {"SMLA-M21", "h9o", w, none(&A::seqused_ori_kv), "sequsedOriKv"},
    {"SMLA-M21", "9o", c, none(&A::seqused_cmp_kv), "sequsedCmpKv"},
    {"SMLA-M21", "h9o", d, none(&A::seqused_cmp_kv), "sequsedCmpKv"},
    {"SMLA-M22", "h9o", c, none(&A::cmp_residual_kv), "cmpResidualKv"},
    {"SMLA-M23", "9o", w, both(list_original, none(&A::ori_topk_length)), "oriTopkLength"},
    {"SMLA-M23", "9", c, to(&A::cmp_mask_mode, 0), "cmpTopkLength"},
    {"SMLA-M25", "o", c, blank(&A::cmp_topk_length, {3, 1}), "cmpTopkLength"},
    {"SMLA-M30", "h9o", c, blank(&A::seqused_ori_kv, {2}, ACL_INT64), "sequsedOriKv"},
    {"SMLA-M30", "h9o", c, blank(&A::metadata, {1024}, ACL_FLOAT), "metaData"},
    {"SMLA-M30", "h9o", c, blank(&A::metadata, {1025}), "metaData"},
    {"SMLA-M31", "h9o", c, blank(&A::seqused_ori_kv, {3}), "sequsedOriKv"},
    {"SMLA-M31", "h9o", c, blank(&A::cmp_residual_kv, {1}), "cmpResidualKv"},
    {"SMLA-M32", "h9", unpacked(w), both(list_original, blank(&A::ori_topk_length, {2, 3, 1})), "oriTopkLength"},
    {"HOST-S-54", "h9o", unpacked(w), both(to(&A::batch, 65537), none(&A::seqused_ori_kv)), "batchSize"},
    {"HOST-C-55", "h9o", c,
     [](Prepared& p) { p.a.seqused_ori_kv = p.objects.strided({2}, {2}, 0, 4, ACL_INT32, p.exactly(16)); },
     "sequsedOriKv"},
    {"HOST-C-52", "h9o", c, [](Prepared& p) { p.a.metadata = p.tensor({1024}, ACL_INT32, nullptr); }, "metaData"},
    {"HOST-C-53", "h9o", c, [](Prepared& p) { p.a.seqused_ori_kv = p.tensor({2}, ACL_INT32, p.words.data() + 5); },
     "metaData"},
};

const Refused kQuantMetadata[] = {
    {"KVQ-M02", "h9o", quantised(c), none(&A::metadata), "metaData", 161001},
    {"KVQ-M04", "h9o", quantised(c), to(&A::batch, -2), "batchSize"},
    {"KVQ-M04", "h9o", quantised(c), to(&A::max_q, -1), "maxSeqlenQ"},
    {"KVQ-M05", "h9o", quantised(c), to(&A::kv_heads, 0), "numHeadsKv"},
    {"KVQ-M05", "9o", quantised(c), to(&A::heads, 32), "numHeadsQ"},
    {"KVQ-M06", "h9o", quantised(c), to(&A::ori_mask_mode, 2), "oriMaskMode"},
    {"KVQ-M06", "h9o", quantised(c), to(&A::ori_win_left, -1), "oriWinLeft"},
    {"KVQ-M07", "h9o", quantised(c), set<std::string>(&A::layout_kv, "PA_BBND"), "layoutKv"},
    {"KVQ-M07", "h9o", quantised(c), set<std::string>(&A::layout_kv, "BSND"), "layoutKv"},
    {"KVQ-M08", "h9o", quantised(c), none(&A::cu_seqlens_q), "cuSeqlensQ"},
    {"KVQ-M08", "h9o", quantised(c), none(&A::seqused_ori_kv), "sequsedKv"},
    {"KVQ-M09", "9o", quantised(c), to(&A::cmp_ratio, 8), "cmpRatio"},
    {"KVQ-M09", "9o", quantised(c), to(&A::cmp_topk, 100), "cmpTopK"},
    {"HOST-S-51", "h", quantised(c), to(&A::cmp_ratio, 0), "cmpRatio"},
    {"HOST-C-51", "h9o", quantised(c), blank(&A::seqused_ori_kv, {1}), "sequsedKv"},
    {"HOST-C-57", "h9o", quantised(c), blank(&A::metadata, {2, 512}), "metaData"},
};

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
        const bool is_late = std::strcmp(rule.stage, "run") == 0;  // sparse_two_phase.cpp breaks those
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
    for (const Refused& r : kMain) check_refused(r, kOperator);
    for (const Refused& r : kQuant) check_refused(r, kOperator);
    for (const Refused& r : kMetadata) check_refused(r, kProducer);
    for (const Refused& r : kQuantMetadata) check_refused(r, kProducer);
    test_out_pointers();
    test_rows_of_other_sizes();
    test_accepted();
    test_coverage();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
