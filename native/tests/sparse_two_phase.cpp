// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse operators through both phases: what device memory holds is judged when a call runs, executors can be
// repeated on other memory, pools may share blocks, and nothing is written by a call that fails.
#include <functional>
#include <random>
#include <set>

#include "acl_attn/rules.h"
#include "sparse_call.h"

using namespace sparse_call;

namespace {

std::vector<uint16_t> output_of(const Prepared& p) {
    return {p.out_data, p.out_data + static_cast<size_t>(p.rows * p.s.heads * 512)};
}

void fill_output(Prepared& p) { std::fill_n(p.out_data, static_cast<size_t>(p.rows * p.s.heads * 512), 0x1234); }

bool is_filled(const Prepared& p) {
    return std::all_of(p.out_data, p.out_data + static_cast<size_t>(p.rows * p.s.heads * 512),
                       [](uint16_t code) { return code == 0x1234; });
}

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> made;
        for (const Scenario& s : {window(), dense(), selected()}) {
            for (const Scenario& of_layout : {s, packed(s), unpacked(s)}) made.push_back(of_layout);
            made.push_back(quantised(s));
        }
        return made;
    }();
    return all;
}

std::set<std::string> broken_rules;  // by calls that were refused for them when they ran

void note_rule(const std::string& message) {
    const size_t at = message.rfind('[');
    if (at != std::string::npos) broken_rules.insert(message.substr(at + 1, message.size() - at - 2));
}

// The run fails with a message that contains `needle`, and writes nothing.
void fails(Prepared& p, const std::string& needle, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    fill_output(p);
    const aclnnStatus status = call(p.a);
    const std::string message = status == 0 ? "" : recent_message();
    expect(status == 161002 && message.find(needle) != std::string::npos,
           "\"" + needle + "\", status " + std::to_string(status) + ": " + message, file, line);
    expect(message.find(": expected ") != std::string::npos && message.find(", got ") != std::string::npos, message,
           file, line);
    expect(is_filled(p), "nothing is written: " + message, file, line);
    note_rule(message);
}

// The same of the metadata's producer.
void metadata_fails(Prepared& p, const char* needle, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const std::vector<int32_t> before = p.words;
    const aclnnStatus status = p.make_metadata();
    const std::string message = status == 0 ? "" : recent_message();
    expect(status == 161002 && message.find(needle) != std::string::npos, message, file, line);
    expect(p.words == before, "nothing is written: " + message, file, line);
    note_rule(message);
}

void runs(Prepared& p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    fill_output(p);
    const aclnnStatus status = call(p.a);
    expect(status == 0, status == 0 ? "" : recent_message(), file, line);
    expect(!is_filled(p), "something is written", file, line);
}

// An INT32 entry that is changed for as long as this lives.
class Changed {
public:
    Changed(int32_t& entry, int32_t value) : entry_(entry), before_(entry) { entry_ = value; }
    ~Changed() { entry_ = before_; }

private:
    int32_t& entry_;
    int32_t before_;
};

// The lengths' data, which the tensors were made on.
int32_t* data_of(Prepared& p, T Arguments::* member, const std::vector<int64_t>& values) {
    int32_t* data = p.int_data(values);
    p.a.*member = p.tensor({static_cast<int64_t>(values.size())}, ACL_INT32, data);
    return data;
}

void test_lengths_are_judged_when_they_are_read() {
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        int32_t* totals = s.is_packed_q ? data_of(p, &Arguments::cu_seqlens_q, Prepared::running(s.q)) : nullptr;
        int32_t* used = s.kv != 'T' ? data_of(p, &Arguments::seqused_ori_kv, s.ori) : nullptr;
        int32_t* ori_totals =
            s.kv == 'T' ? data_of(p, &Arguments::cu_seqlens_ori_kv, Prepared::running(s.ori)) : nullptr;
        expect(p.make_metadata() == 0, "metadata");
        runs(p);
        if (totals != nullptr) {
            {
                Changed c(totals[0], 1);
                fails(p, "cuSeqlensQ[0]: expected 0");
            }
            {
                Changed c(totals[1], 4);
                fails(p, "cuSeqlensQ[2]: expected at least 4");
            }
            {
                Changed c(totals[2], 4);
                fails(p, "cuSeqlensQ[2]: expected 3");
            }
            {
                Changed c(totals[2], INT32_MAX);
                fails(p, "cuSeqlensQ[2]: ");
            }
            {
                Changed c(totals[1], -1);
                fails(p, "cuSeqlensQ[1]: ");
            }
        }
        const char* name = s.is_quantised ? "sequsedKv[1]: " : "sequsedOriKv[1]: ";
        if (used != nullptr) {
            for (const int32_t value : {-1, INT32_MAX, INT32_MIN, 4096}) {
                Changed c(used[1], value);
                fails(p, name);
            }
        }
        if (ori_totals != nullptr) {
            for (const int32_t value : {-1, INT32_MAX, 0}) {
                Changed c(ori_totals[2], value);
                fails(p, "cuSeqlensOriKv[2]: ");
            }
        }
        if (s.has_cmp && !s.is_quantised) {
            std::vector<int64_t> residual;
            for (const int64_t tokens : s.ori) residual.push_back(tokens % s.ratio);
            int32_t* data = data_of(p, &Arguments::cmp_residual_kv, residual);
            for (const int32_t value : {-1, static_cast<int32_t>(s.ratio), INT32_MAX}) {
                Changed c(data[0], value);
                fails(p, "cmpResidualKv[0]: ");
            }
        }
        runs(p);
    }
}

void test_places_that_lead_nowhere() {
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        expect(p.make_metadata() == 0, "metadata");
        if (s.kv == 'P') {
            for (const int32_t value : {-1, INT32_MAX, INT32_MIN, 6 * 64}) {
                {
                    Changed c(p.ori_rows.table[p.ori_rows.columns], value);  // of sequence 1, whose window begins there
                    if (s.ori[1] <= 128) fails(p, "oriBlockTable[1][0]: expected a block id in 0..");
                }
                if (!s.has_cmp) continue;
                Changed c(p.cmp_rows.table[0], value);
                fails(p, "cmpBlockTable[0][0]: expected a block id in 0..");
            }
        }
        if (s.is_listed) {
            const std::string first = s.is_packed_q ? "cmpSparseIndices[1][0][" : "cmpSparseIndices[0][1][0][";
            int32_t* list = p.list_data + s.topk;  // of row 1, which sees 10 rows
            for (const int64_t entry : {0, 1, 9}) {
                for (const int32_t value : {-2, 10, INT32_MAX, INT32_MIN}) {
                    Changed c(list[entry], value);
                    fails(p, first + std::to_string(entry) + "]: expected a row of the sequence in 0..9");
                }
            }
            {
                Changed c(list[10], 12345);  // behind what is visible: not looked at
                runs(p);
            }
        }
        runs(p);
    }
}

void test_metadata_must_be_the_calls_own() {
    std::mt19937 random(7);
    for (const Scenario& s : scenarios()) {
        Prepared p(s);
        expect(p.make_metadata() == 0, "metadata");
        const std::vector<int32_t> own = p.words;
        runs(p);
        for (const size_t word :
             {size_t{0}, size_t{4}, size_t{323}, size_t{324}, size_t{899}, size_t{900}, size_t{1023}}) {
            Changed c(p.words[word], p.words[word] + 1);
            fails(p, "metadata: expected ");
        }
        for (int32_t& word : p.words) word = static_cast<int32_t>(random());
        fails(p, "metadata: expected ");
        std::fill(p.words.begin(), p.words.end(), 0);
        fails(p, "metadata: expected ");

        // As a device would leave it: the list and nothing behind.
        std::copy(own.begin(), own.begin() + 900, p.words.begin());
        runs(p);
        {
            Changed c(p.words[5], p.words[5] + 1);
            fails(p, "in word 5, got ");
        }

        // Of a call with other lengths, other heads, other lists.
        Scenario other = s;
        other.ori[1] += 1;
        Prepared longer(other);
        expect(longer.make_metadata() == 0, "metadata of longer sequences");
        p.words = longer.words;
        p.a.metadata = p.tensor({1024}, ACL_INT32, p.words.data());
        fails(p, std::to_string(s.ori[1]) + " original tokens in sequence 1");
        fails(p, std::to_string(s.ori[1] + 1));
        other = s;
        other.heads = s.heads / 2;
        Prepared narrower(other);
        expect(narrower.make_metadata() == 0, "metadata of fewer heads");
        p.words = narrower.words;
        fails(p, "numHeadsQ 64, got that of another: numHeadsQ 32");
        p.words = own;
        p.a.metadata = p.tensor({1024}, ACL_INT32, p.words.data());
        runs(p);
    }
}

void test_many_sequences() {
    Scenario s = window();
    s.q.assign(40, 1), s.ori.assign(40, 20);
    Prepared p(s);
    expect(p.make_metadata() == 0, "metadata");
    runs(p);
    const std::vector<int32_t> own = p.words;
    std::vector<int64_t> lengths = s.ori;
    lengths[30] = 19;
    data_of(p, &Arguments::seqused_ori_kv, lengths);
    fails(p, "799 original tokens in all, got that of another: 800");
    lengths[31] = 21;
    data_of(p, &Arguments::seqused_ori_kv, lengths);
    fails(p, "distributed differently");
}

void test_metadata_lengths() {
    Prepared p(selected());
    int32_t* totals = data_of(p, &Arguments::cu_seqlens_q, {0, 2, 3});
    int32_t* residual = data_of(p, &Arguments::cmp_residual_kv, {0, 1});
    int32_t* used = data_of(p, &Arguments::seqused_ori_kv, {40, 21});
    {
        Changed c(totals[0], 5);
        metadata_fails(p, "[SMLA-M40]");
    }
    {
        Changed c(totals[2], 1);
        metadata_fails(p, "[SMLA-M40]");
    }
    {
        Changed c(totals[2], INT32_MAX);
        metadata_fails(p, "[HOST-V-52]");
    }
    {
        Changed c(used[1], -1);
        metadata_fails(p, "[SMLA-M41]");
    }
    {
        Changed c(residual[1], 4);
        metadata_fails(p, "[SMLA-M42]");
    }
    CHECK_OK(p.make_metadata());

    Prepared packed_rows(quantised(selected()));
    totals = data_of(packed_rows, &Arguments::cu_seqlens_q, {0, 2, 3});
    used = data_of(packed_rows, &Arguments::seqused_ori_kv, {40, 21});
    {
        Changed c(totals[1], -1);
        metadata_fails(packed_rows, "cuSeqlensQ[1]: ");
    }
    {
        Changed c(used[0], INT32_MIN);
        metadata_fails(packed_rows, "sequsedKv[0]: ");
    }
    {
        Changed c(totals[2], INT32_MAX);
        metadata_fails(packed_rows, "[HOST-V-52]");
    }
    CHECK_OK(packed_rows.make_metadata());

    // Without compressed rows their ratio and residuals mean nothing, whatever they are.
    Prepared none(window());
    none.a.cmp_ratio = INT64_MIN;
    none.a.cmp_residual_kv = none.ints({-1, 99});
    CHECK_OK(none.make_metadata());
    none.a.cmp_ratio = 1;
    none.a.cmp_residual_kv = nullptr;
    runs(none);

    Prepared lists(window());
    lists.a.ori_mask_mode = 0;
    lists.a.ori_win_left = lists.a.ori_win_right = -1;
    lists.a.ori_topk = 3;
    lists.a.ori_topk_length = lists.ints({1, -1, 2}, {3, 1});
    metadata_fails(lists, "oriTopkLength[1][0]: expected 0 or more, got -1 [SMLA-M43]");
    lists.a.ori_topk_length = lists.ints({1, 1}, {2, 1});
    metadata_fails(lists, "[SMLA-M43]");
    lists.a.ori_topk_length = lists.ints({1, 1, 2}, {3, 1});
    CHECK_OK(lists.make_metadata());
}

// A repeatable executor follows its tensors to other memory, every one of them.
void test_repeated_on_other_memory() {
    for (const Scenario& s : scenarios()) {
        Prepared p(s), other(s);
        expect(p.make_metadata() == 0 && other.make_metadata() == 0, "metadata");
        for (int64_t i = 0; i < other.rows * s.heads * 512; ++i) other.q_data[i] ^= 0x8000;
        runs(p), runs(other);
        const std::vector<uint16_t> first = output_of(p), second = output_of(other);
        expect(first != second, "different queries give different results");

        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        CHECK_OK(p.a.phase_one(&size, &executor));
        CHECK_OK(aclSetAclOpExecutorRepeatable(executor));
        std::vector<uint64_t> workspace(size / 8 + 8);
        auto* q = const_cast<aclTensor*>(p.a.q);
        const size_t inputs = s.is_quantised ? 14 : 18;
        CHECK_OK(aclSetInputTensorAddr(executor, 0, q, other.q_data));
        CHECK_OK(aclSetOutputTensorAddr(executor, 0, q, other.out_data));
        fill_output(p), fill_output(other);
        CHECK_OK(p.a.phase_two(workspace.data(), size, executor));
        CHECK_OK(aclrtSynchronizeStream(nullptr));
        expect(output_of(other) == second && is_filled(p), "the second call's result in the second call's memory");

        CHECK_OK(aclSetTensorAddr(executor, 0, q, p.q_data));
        CHECK_OK(aclSetTensorAddr(executor, inputs, q, p.out_data));
        CHECK_OK(p.a.phase_two(workspace.data(), size, executor));
        CHECK_OK(aclrtSynchronizeStream(nullptr));
        expect(output_of(p) == first, "and back");

        CHECK_OK(aclSetInputTensorAddr(executor, inputs - 1, q, other.words.data()));
        CHECK_OK(aclSetInputTensorAddr(executor, 1, q, other.ori_rows.data));
        CHECK_OK(p.a.phase_two(workspace.data(), size, executor));
        CHECK_OK(aclrtSynchronizeStream(nullptr));
        expect(output_of(p) == first, "equal rows and metadata elsewhere");

        CHECK(aclSetInputTensorAddr(executor, 3, q, other.q_data) != 0);  // was absent
        CHECK(aclSetInputTensorAddr(executor, inputs, q, other.q_data) != 0);
        CHECK(aclSetOutputTensorAddr(executor, 2, q, other.q_data) != 0);
        CHECK(aclSetTensorAddr(executor, inputs + 2, q, other.q_data) != 0);
        CHECK(aclSetDynamicInputTensorAddr(executor, 0, 0, nullptr, other.q_data) != 0);
        CHECK_OK(aclSetOutputTensorAddr(executor, 0, q, p.q_data));
        CHECK_OK(p.a.phase_two(workspace.data(), size, executor));
        CHECK_FAILS(aclrtSynchronizeStream(nullptr), 161002, "attnOut: expected memory of its own");
        CHECK_OK(aclDestroyAclOpExecutor(executor));
    }
}

void test_executors_know_their_operator() {
    Prepared p(selected());
    CHECK_OK(p.make_metadata());
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK_OK(p.a.phase_one(&size, &executor));
    std::vector<uint64_t> workspace(size / 8 + 8);
    CHECK_FAILS(aclnnKvQuantSparseAttnSharedkv(workspace.data(), size, executor, nullptr), 561000,
                "executor: expected ");
    CHECK_OK(p.a.phase_one(&size, &executor));
    char text[4096];
    size_t needed = 0;
    CHECK_OK(aclAttnDescribeExecutor(executor, text, sizeof text, &needed));
    CHECK(std::strstr(text, "aclnnSparseFlashMla: window and selected compressed rows, 2 sequences, 64 heads") !=
          nullptr);
    if (size > 0) {
        CHECK_FAILS(aclnnSparseFlashMla(nullptr, size, executor, nullptr), 161001, "workspace: expected ");
        CHECK_OK(p.a.phase_one(&size, &executor));
        CHECK_OK(aclnnSparseFlashMla(p.q_data, size, executor, nullptr));
        CHECK_FAILS(aclrtSynchronizeStream(nullptr), 161002, "workspace: expected memory of its own");
    } else {
        CHECK_OK(aclDestroyAclOpExecutor(executor));
    }
    CHECK_OK(p.a.metadata_phase_one(&size, &executor));
    CHECK_OK(aclAttnDescribeExecutor(executor, text, sizeof text, &needed));
    CHECK(std::strstr(text, "aclnnSparseFlashMlaMetadata: 2 sequences, 64 heads") != nullptr);
    CHECK_OK(aclDestroyAclOpExecutor(executor));
}

// Both pools in the blocks of one memory: rows of the original stream first, compressed ones behind, then a gap.
void test_fused_blocks() {
    for (const Scenario& s : {dense(), selected(), quantised(dense()), quantised(selected())}) {
        Prepared apart(s);
        expect(apart.make_metadata() == 0, "metadata");
        runs(apart);
        const int64_t row = apart.ori_rows.row_bytes, block = s.block_size * row;
        const int64_t stride = 2 * block + 128;
        const int64_t blocks = s.batch() * apart.ori_rows.columns;
        auto* memory = static_cast<char*>(apart.exactly(static_cast<size_t>(blocks * stride)));
        std::memset(memory, 0x7f, static_cast<size_t>(blocks * stride));  // NaN wherever nothing may be read
        for (int64_t i = 0; i < blocks; ++i) std::memcpy(memory + i * stride, apart.ori_rows.data + i * block, block);
        for (int64_t i = 0; i < s.batch() * apart.cmp_rows.columns; ++i) {
            std::memcpy(memory + i * stride + block, apart.cmp_rows.data + i * block, block);
        }
        const std::vector<uint16_t> want = output_of(apart);
        const int64_t element = s.is_quantised ? 1 : 2, width = row / element;
        const aclDataType type = s.is_quantised ? ACL_FLOAT8_E4M3FN : s.type;
        const auto pool = [&](int64_t offset, int64_t count) {
            return apart.objects.strided({count, s.block_size, 1, width}, {stride / element, width, width, 1},
                                         offset / element, blocks * stride / element, type, memory);
        };
        apart.a.ori_kv = pool(0, blocks);
        apart.a.cmp_kv = pool(block, s.batch() * apart.cmp_rows.columns);
        runs(apart);
        expect(output_of(apart) == want, "the same bits from fused blocks");
        if (!s.is_quantised) continue;
        apart.a.is_strided_entry = true;
        apart.a.ori_stride = apart.a.cmp_stride = stride;
        apart.a.ori_kv = apart.tensor({blocks, s.block_size, 1, width}, type, memory);
        apart.a.cmp_kv =
            apart.tensor({s.batch() * apart.cmp_rows.columns, s.block_size, 1, width}, type, memory + block);
        runs(apart);
        expect(output_of(apart) == want, "the same bits with strides as arguments");
    }
}

// Queries may lie apart; gaps are not read.
void test_strided_queries() {
    for (const Scenario& s : {selected(), unpacked(selected())}) {
        Prepared p(s);
        expect(p.make_metadata() == 0, "metadata");
        runs(p);
        const std::vector<uint16_t> want = output_of(p);
        const int64_t head = 512 + 8, token = s.heads * head + 16;
        auto* memory = static_cast<uint16_t*>(p.exactly(static_cast<size_t>(p.rows * token) * 2));
        std::fill_n(memory, p.rows * token, uint16_t{0x7fff});
        for (int64_t r = 0; r < p.rows; ++r) {
            for (int64_t h = 0; h < s.heads; ++h) {
                std::memcpy(memory + r * token + h * head, p.q_data + (r * s.heads + h) * 512, 1024);
            }
        }
        const int64_t each = s.is_packed_q ? 0 : p.rows / s.batch();
        p.a.q = s.is_packed_q
                    ? p.objects.strided({p.rows, s.heads, 512}, {token, head, 1}, 0, p.rows * token, s.type, memory)
                    : p.objects.strided({s.batch(), each, s.heads, 512}, {each * token, token, head, 1}, 0,
                                        p.rows * token, s.type, memory);
        runs(p);
        expect(output_of(p) == want, "the same bits from strided queries");
    }
}

// Sequences without queries, without tokens, with more queries than tokens.
void test_empty_sequences() {
    Scenario s = selected();
    s.q = {0, 3, 2, 0, 1}, s.ori = {30, 0, 1, 0, 9};
    for (const Scenario& each : {s, packed(s), quantised(s)}) {
        Prepared p(each);
        p.a.return_softmax_lse = true;
        std::fill_n(p.lse_data, p.rows * each.heads, 7.0f);
        expect(p.make_metadata() == 0, "metadata");
        runs(p);
        for (int64_t row = 0; row < p.rows; ++row) {
            const bool sees = row == 4 || row == 5;  // the last query of sequence 2, the one of sequence 4
            const uint16_t* out = p.out_data + row * each.heads * 512;
            const bool is_zero = std::all_of(out, out + each.heads * 512, [](uint16_t code) { return code == 0; });
            expect(is_zero != sees && (p.lse_data[row * each.heads] == 0.0f) != sees, "row " + std::to_string(row));
        }
    }
    Scenario none = s;
    none.q = {0, 0}, none.ori = {5, 0};
    Prepared p(none);
    expect(p.make_metadata() == 0, "metadata without queries");
    CHECK_OK(call(p.a));
    const std::vector<int32_t> head(p.words.begin(), p.words.begin() + 8);
    CHECK((head == std::vector<int32_t>{1, 0, 0, 0, 2, 0, 0, 0}));
}

// Every rule about what tensors hold has been broken above.
void test_coverage() {
    for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
        aclAttnRule rule;
        CHECK_OK(aclAttnGetRule(i, &rule));
        if (std::strcmp(rule.stage, "run") != 0) continue;
        expect(broken_rules.count(rule.id) == 1, std::string("a run that breaks ") + rule.id);
        expect(rule.status == 161002, std::string("the status of ") + rule.id);
        expect(*rule.group != '\0' && *rule.tier != '\0' && *rule.text != '\0', std::string("words of ") + rule.id);
    }
    for (const std::string& id : broken_rules) {
        bool is_listed = false;
        for (int32_t i = 0; i < aclAttnGetRuleCount(); ++i) {
            aclAttnRule rule;
            is_listed |= aclAttnGetRule(i, &rule) == 0 && id == rule.id && std::strcmp(rule.stage, "run") == 0;
        }
        expect(is_listed, id + " in the catalogue");
    }
}

void test_descriptions() {
    std::mt19937 random(3);
    std::vector<int32_t> words(1024);
    char text[16];
    size_t needed = 0;
    for (int i = 0; i < 50; ++i) {
        for (int32_t& word : words) word = static_cast<int32_t>(random());
        if (i % 2 == 0) words[900] = 0x4c434154, words[901] = 1, words[903] = i % 4 / 2;
        CHECK_OK(aclAttnDescribeMetadata(words.data(), text, sizeof text, &needed));
        CHECK(needed > sizeof text && std::strlen(text) == sizeof text - 1);
        CHECK_OK(aclAttnDescribeMetadata(words.data(), nullptr, 0, &needed));
    }
    CHECK_FAILS(aclAttnDescribeMetadata(words.data(), nullptr, 5, nullptr), 161001, "text: ");
}

}  // namespace

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    test_lengths_are_judged_when_they_are_read();
    test_places_that_lead_nowhere();
    test_metadata_must_be_the_calls_own();
    test_many_sequences();
    test_metadata_lengths();
    test_repeated_on_other_memory();
    test_executors_know_their_operator();
    test_fused_blocks();
    test_strided_queries();
    test_empty_sequences();
    test_descriptions();
    test_coverage();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
