// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator through its C interface: every layout, storage, sparse mode and form of lengths against plain loops;
// layouts and storages bit for bit against each other.
#include <algorithm>
#include <cmath>
#include <thread>

#include "two_phase_scenario.h"

using namespace two_phase;

constexpr double kScale = 0.3;

static std::string name_of(const Scenario& s) {
    const char* const kinds[] = {"dense", "list", "paged3", "paged4", "paged5"};
    return s.layout + (s.type == ACL_BF16 ? " bf16 " : " fp16 ") + std::to_string(s.heads) + ":" +
           std::to_string(s.kv_heads) + " D " + std::to_string(s.dim) + "/" + std::to_string(s.dim_v) + " mode " +
           std::to_string(s.sparse_mode) + (s.mask ? " mask " : " ") + kinds[static_cast<int>(s.kv)];
}

struct Result {
    std::vector<uint16_t> out;
    std::vector<float> lse;
};

static Result run(const Scenario& s) {
    Prepared p(s, kScale);
    const aclnnStatus status = call(p.arguments);
    if (status != 0) {
        expect(false, name_of(s) + ": status " + std::to_string(status) + " " + recent_message());
        return {};
    }
    expect(p.padding_is_clean(), name_of(s) + ": padding rows");
    return {p.out_rows(), p.lse_rows()};
}

static void compare(const Scenario& s, const Result& result) {
    const Answer want = plain_answer(s, kScale);
    if (result.out.size() != want.out.size() || result.lse.size() != want.lse.size()) {
        expect(false, name_of(s) + ": no result");
        return;
    }
    const double tolerance = s.type == ACL_BF16 ? 1.2e-2 : 1e-3;
    double worst = 0.0;
    for (size_t i = 0; i < want.out.size(); ++i) {
        const double error = std::fabs(decode(result.out[i], s.type) - want.out[i]);
        worst = error > worst || std::isnan(error) ? error : worst;
    }
    expect(worst <= tolerance, name_of(s) + ": worst error " + std::to_string(worst));
    bool lse_ok = true;
    for (size_t i = 0; i < want.lse.size(); ++i) {
        lse_ok = lse_ok && (std::isinf(want.lse[i]) ? std::isinf(result.lse[i]) && result.lse[i] > 0
                                                    : std::fabs(result.lse[i] - want.lse[i]) < 1e-5);
    }
    expect(lse_ok, name_of(s) + ": softmaxLse");
}

static bool same_bits(const Result& a, const Result& b) {
    return a.out == b.out && a.lse.size() == b.lse.size() &&
           std::equal(a.lse.begin(), a.lse.end(), b.lse.begin(),
                      [](float x, float y) { return std::memcmp(&x, &y, sizeof x) == 0; });
}

static const char* const kLayouts[] = {"BSH",       "BSND",      "BNSD",      "TND",     "NTD",
                                       "BNSD_BSND", "BSH_BNSD",  "BSND_BNSD", "NTD_TND", "BSH_NBSD",
                                       "BSND_NBSD", "BNSD_NBSD", "TND_NTD"};

static Scenario ragged() {
    Scenario s;
    s.q_len = {4, 0, 6, 1, 3};
    s.kv_len = {9, 5, 3, 0, 11};
    s.sq = 7;
    s.skv = 12;
    return s;
}

// All layouts, all groups, all sparse modes: one answer, the same bits from every layout and every storage.
static void test_layouts_and_storages() {
    const struct {
        int64_t heads, kv_heads, dim, dim_v;
    } sizes[] = {{2, 2, 16, 16}, {6, 2, 32, 16}, {5, 1, 48, 32}};
    const struct {
        int64_t mode, pre, next;
        bool mask, shared;
    } maskings[] = {
        {0, INT_MAX, INT_MAX, false, false},
        {0, INT_MAX, INT_MAX, true, false},
        {0, 2, 1, true, true},
        {1, 0, 0, true, false},
        {2, INT_MAX, INT_MAX, false, false},
        {3, INT_MAX, INT_MAX, true, false},
        {4, 3, -1, false, false},
        {4, -1, 4, true, false},
    };
    for (const aclDataType type : {ACL_FLOAT16, ACL_BF16}) {
        for (const auto& size : sizes) {
            for (const auto& m : maskings) {
                Scenario s = ragged();
                s.type = type;
                s.heads = size.heads, s.kv_heads = size.kv_heads, s.dim = size.dim, s.dim_v = size.dim_v;
                s.sparse_mode = m.mode, s.pre = m.pre, s.next = m.next, s.mask = m.mask, s.mask_shared = m.shared;
                const Result first = run(s);
                compare(s, first);
                for (const char* layout : kLayouts) {
                    s.layout = layout;
                    for (const Kv kv : {Kv::dense, Kv::list, Kv::paged3, Kv::paged4, Kv::paged5}) {
                        if (kv == Kv::list && s.packed()) continue;
                        s.kv = kv;
                        s.block_gap = kv == Kv::dense ? 0 : 16 * static_cast<int64_t>(kv);
                        expect(same_bits(run(s), first), name_of(s) + ": differs from BSND");
                    }
                }
            }
        }
    }
}

static void test_lengths_forms() {
    Scenario s;
    s.q_len = {3, 3};
    s.kv_len = {5, 5};
    const Result want = run(s);
    compare(s, want);
    const struct {
        std::vector<int64_t> q, kv;
    } forms[] = {
        {{}, {}}, {{3}, {}}, {{}, {5}}, {{3}, {5}}, {{3, 3}, {5, 5}}, {{3, 3, 99, -7}, {5, 5, 1000}},
    };
    for (const auto& form : forms) {
        Prepared p(s, kScale);
        p.arguments.actual_seq_lengths = form.q.empty() ? nullptr : p.objects.ints(form.q);
        p.arguments.actual_seq_lengths_kv = form.kv.empty() ? nullptr : p.objects.ints(form.kv);
        expect(call(p.arguments) == 0, "lengths accepted: " + recent_message());
        expect(same_bits({p.out_rows(), p.lse_rows()}, want), "lengths in another form");
    }
    s.q_len = {2, 2};
    s.kv_len = {4, 4};
    const Result shorter = run(s);
    Prepared p(s, kScale);
    p.arguments.actual_seq_lengths = p.objects.ints({2});
    p.arguments.actual_seq_lengths_kv = p.objects.ints({4});
    expect(call(p.arguments) == 0 && same_bits({p.out_rows(), p.lse_rows()}, shorter), "one length for all sequences");
}

static void test_absent_forms() {
    Scenario s;
    const Result want = run(s);
    Prepared p(s, kScale, false);
    const aclTensor* nothing = p.objects.tensor({0}, ACL_FLOAT, nullptr);
    p.arguments.num_key_value_heads = 0;
    p.arguments.pse_shift = p.arguments.atten_mask = p.arguments.block_table = p.arguments.query_rope = nothing;
    p.arguments.learnable_sink = p.arguments.key_antiquant_scale = p.arguments.softmax_lse = nothing;
    p.arguments.q_start_idx = p.arguments.actual_shared_prefix_len = p.objects.ints({});
    expect(call(p.arguments) == 0, "tensors without elements are absent: " + recent_message());
    expect(p.out_rows() == want.out, "the result does not depend on softmaxLseFlag");
}

static void test_empty_calls() {
    for (const char* layout : {"BSND", "TND", "BNSD_BSND"}) {
        Scenario s;
        s.layout = layout;
        s.q_len = {0, 0};
        s.kv_len = {3, 2};
        s.sq = 0;
        const Result empty_query = run(s);
        expect(empty_query.out.empty(), "empty query");
        s.q_len = {2, 3};
        s.kv_len = {0, 0};
        s.sq = 3;
        s.skv = 0;
        compare(s, run(s));
    }
    Scenario s;
    s.kv = Kv::paged4;
    s.q_len = {2, 3};
    s.kv_len = {0, 0};
    compare(s, run(s));
}

static void test_offsets() {
    Scenario s;
    s.sq = 3;
    const Result want = run(s);
    Prepared p(s, kScale);
    std::vector<uint16_t> query(p.query.size() + 5, kPoison), out(p.out.size() + 3, kPoison);
    std::copy(p.query.begin(), p.query.end(), query.begin() + 5);
    const Dims q_dims{1, 3, 2, 16}, strides{96, 32, 16, 1};
    p.arguments.query = p.objects.strided(q_dims, strides, 5, int64_t(query.size()), s.type, query.data());
    p.arguments.attention_out = p.objects.strided(q_dims, strides, 3, int64_t(out.size()), s.type, out.data());
    expect(call(p.arguments) == 0, "offsets: " + recent_message());
    std::copy(out.begin() + 3, out.end(), p.out.begin());
    expect(p.out_rows() == want.out && out[2] == kPoison, "tensors with offsets");
}

// One executor, many runs: addresses change, a task that is already queued keeps its own.
static void test_repeatable() {
    Scenario s = ragged();
    const Result want = run(s);
    Prepared p(s, kScale), other(s, kScale);
    std::fill(p.query.begin(), p.query.end(), uint16_t{0});
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    expect(p.arguments.phase_one(&size, &executor) == 0, "plan to repeat");
    expect(aclSetAclOpExecutorRepeatable(executor) == 0, "make repeatable");
    std::vector<uint64_t> workspace(size / 8 + 1);
    aclrtStream stream = nullptr;
    expect(aclrtCreateStream(&stream) == 0, "stream");
    expect(aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, stream) == 0, "first run");
    auto* query = const_cast<aclTensor*>(other.arguments.query);
    auto* out = const_cast<aclTensor*>(other.arguments.attention_out);
    auto* lse = const_cast<aclTensor*>(other.arguments.softmax_lse);
    expect(aclSetInputTensorAddr(executor, 0, query, other.query.data()) == 0, "set query");
    expect(aclSetOutputTensorAddr(executor, 0, out, other.out.data()) == 0, "set attentionOut");
    expect(aclSetTensorAddr(executor, 32, lse, other.lse.data()) == 0, "set softmaxLse");
    auto* key = const_cast<aclTensorList*>(other.arguments.key);
    expect(aclSetDynamicInputTensorAddr(executor, 1, 0, key, other.key[0].data()) == 0, "set key[0]");
    expect(aclSetDynamicInputTensorAddr(executor, 1, 1, key, other.key[0].data()) != 0, "there is no key[1]");
    expect(aclSetInputTensorAddr(executor, 4, query, other.query.data()) != 0, "there is no attenMask");
    expect(aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, stream) == 0, "second run");
    expect(aclrtSynchronizeStream(stream) == 0, "wait");
    expect(same_bits({other.out_rows(), other.lse_rows()}, want), "second run went to the new addresses");
    expect(!same_bits({p.out_rows(), p.lse_rows()}, want) && p.padding_is_clean(), "first run kept the old ones");

    // Addresses that do not go together are found when the run is bound, and reported like any error of the device.
    expect(aclSetOutputTensorAddr(executor, 0, out, other.query.data() + 1) == 0, "attentionOut into query");
    expect(aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, stream) == 0, "third run");
    expect(aclrtSynchronizeStream(stream) == 561002, "the third run fails");
    std::string message = recent_message();
    expect(message.find("attentionOut: expected memory of its own, got memory that overlaps query") == 0, message);
    expect(aclSetOutputTensorAddr(executor, 0, out, reinterpret_cast<char*>(other.out.data()) + 1) == 0, "odd address");
    expect(aclAttnRun(workspace.data(), size, executor, stream) == 561002, "the fourth run fails");
    message = recent_message();
    expect(message.find("attentionOut: expected an address that 2 divides") == 0, message);
    expect(aclSetOutputTensorAddr(executor, 0, out, other.out.data()) == 0, "set attentionOut back");
    std::fill(other.out.begin(), other.out.end(), uint16_t{0});
    expect(aclAttnRun(workspace.data(), size, executor, stream) == 0, "fifth run");
    expect(same_bits({other.out_rows(), other.lse_rows()}, want), "the fifth run is right again");
    expect(aclDestroyAclOpExecutor(executor) == 0, "destroy a repeatable executor");
    expect(aclrtDestroyStream(stream) == 0, "destroy the stream");
}

// What phase one copies may be gone before phase two.
static void test_handles_die_between_phases() {
    Scenario s = ragged();
    s.kv = Kv::list;
    const Result want = run(s);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    Prepared p(s, kScale);
    {
        Objects lists;
        std::vector<const aclTensor*> keys, values;
        for (int64_t b = 0; b < s.batch(); ++b) {
            const Dims dims{1, s.kv_len[b] + b % 2, 2, 16};
            keys.push_back(lists.tensor(dims, s.type, p.key[b].data()));
            values.push_back(lists.tensor(dims, s.type, p.value[b].data()));
        }
        Arguments arguments = p.arguments;
        arguments.key = lists.list(keys);
        arguments.value = lists.list(values);
        arguments.actual_seq_lengths = lists.ints(s.q_len);
        arguments.actual_seq_lengths_kv = lists.ints(s.kv_len);
        expect(arguments.phase_one(&size, &executor) == 0, "plan: " + recent_message());
    }
    std::vector<uint64_t> workspace(size / 8 + 1);
    expect(aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, nullptr) == 0, "run");
    expect(aclrtSynchronizeStream(nullptr) == 0, "wait");
    expect(same_bits({p.out_rows(), p.lse_rows()}, want), "handles destroyed between the phases");
}

static void test_bad_block() {
    Scenario s = ragged();
    s.kv = Kv::paged4;
    for (const int32_t bad : {-1, 10000, INT_MIN, INT_MAX}) {
        Prepared p(s, kScale);
        const int64_t columns = static_cast<int64_t>(p.table.size()) / s.batch();
        p.table[4 * columns + 2] = bad;
        const std::vector<uint16_t> before = p.out;
        expect(call(p.arguments) == 161002, "a bad block id is reported");
        const std::string message = recent_message();
        expect(message.find("blockTable[4][2]: expected a block id in 0..") != std::string::npos &&
                   message.find(std::to_string(bad)) != std::string::npos,
               "it is named: " + message);
        expect(p.out == before, "nothing was written");
        expect(call(Prepared(s, kScale).arguments) == 0, "the stream goes on");
    }
}

// Memory that the runtime knows is never left, and the workspace is nobody else's.
static void test_room() {
    Scenario s = ragged();
    void* small = nullptr;
    expect(aclrtMalloc(&small, 64, ACL_MEM_MALLOC_HUGE_FIRST) == 0, "allocate");
    const auto launch = [&](Prepared& p, void* workspace) {
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        expect(p.arguments.phase_one(&size, &executor) == 0, "plan: " + recent_message());
        if (const aclnnStatus status = aclnnFusedInferAttentionScoreV5(workspace, size, executor, nullptr)) {
            return status;
        }
        return aclrtSynchronizeStream(nullptr);
    };
    const auto says = [](const std::string& part) { return recent_message().find(part) != std::string::npos; };
    Prepared p(s, kScale);
    expect(launch(p, small) == 161002 && says("workspace: expected memory for "), "a short workspace");
    expect(launch(p, p.out.data()) == 561002 && says("workspace: expected memory of its own, got memory that overlaps"),
           "a workspace on top of the output");
    Objects objects;
    const std::vector<uint16_t> before = p.out;
    Arguments arguments = p.arguments;
    int64_t* dims = nullptr;
    uint64_t rank = 0, size = 0;
    aclOpExecutor* executor = nullptr;
    expect(aclGetViewShape(p.arguments.query, &dims, &rank) == 0, "shape of the query");
    arguments.query = objects.tensor(Dims(dims, dims + rank), s.type, small);
    delete[] dims;
    expect(arguments.phase_one(&size, &executor) == 561002 && says("query: expected memory for "),
           "a query that is longer than its memory");
    expect(p.out == before, "nothing was written");
    expect(aclrtFree(small) == 0, "free");
}

static void test_description() {
    Scenario s;
    s.layout = "TND";
    s.q_len = {32, 1};
    s.kv_len = {128, 7};
    s.sparse_mode = 3;
    s.kv = Kv::paged4;
    Prepared p(s, kScale);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    expect(p.arguments.phase_one(&size, &executor) == 0, "plan to describe");
    size_t needed = 0;
    expect(aclAttnDescribeExecutor(executor, nullptr, 0, &needed) == 0 && needed > 1, "size of a description");
    std::string text(needed, '\0');
    expect(aclAttnDescribeExecutor(executor, text.data(), text.size(), nullptr) == 0, "description");
    for (const char* part : {"sequence 0: 32 rows, 128 keys; row 0 sees keys 0..96, row 31 sees keys 0..127",
                             "sequence 1: 1 rows, 7 keys; row 0 sees keys 0..6", "layout TND", "blocks of 4 tokens"}) {
        expect(text.find(part) != std::string::npos, std::string("description says: ") + part + "\n" + text);
    }
    expect(aclDestroyAclOpExecutor(executor) == 0, "destroy");
}

static void test_threads() {
    Scenario s = ragged();
    const Result want = run(s);
    std::vector<Result> got(4);
    std::vector<std::thread> threads;
    for (Result& result : got) {
        threads.emplace_back([&s, &result] {
            if (aclrtSetDevice(0) != 0) return;
            aclrtStream stream = nullptr;
            if (aclrtCreateStream(&stream) != 0) return;
            for (int round = 0; round < 20; ++round) {
                Prepared p(s, kScale);
                uint64_t size = 0;
                aclOpExecutor* executor = nullptr;
                if (p.arguments.phase_one(&size, &executor) != 0) return;
                std::vector<uint64_t> workspace(size / 8 + 1);
                if (aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, stream) != 0) return;
                if (aclrtSynchronizeStream(stream) != 0) return;
                result = {p.out_rows(), p.lse_rows()};
            }
            aclrtDestroyStream(stream);
            aclrtResetDevice(0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Result& result : got) expect(same_bits(result, want), "several threads, each with its stream");
}

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_layouts_and_storages();
    test_lengths_forms();
    test_absent_forms();
    test_empty_calls();
    test_offsets();
    test_repeatable();
    test_handles_die_between_phases();
    test_bad_block();
    test_room();
    test_description();
    test_threads();
    expect(live_objects() == 0, "live objects: " + std::to_string(live_objects()));
    aclrtResetDevice(0);
    aclFinalize();
    return check_result();
}
