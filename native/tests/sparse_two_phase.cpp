// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sparse operators through both phases: executors can be repeated on other memory and know their operator, pools
// may share blocks, queries may lie apart, and sequences may be empty.
#include <cstring>
#include <random>

#include "sparse_runs.h"

using namespace sparse_call;

namespace {

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
    test_repeated_on_other_memory();
    test_executors_know_their_operator();
    test_fused_blocks();
    test_strided_queries();
    test_empty_sequences();
    test_descriptions();
    expect(live_objects() == 0, "nothing is left");
    return check_result();
}
