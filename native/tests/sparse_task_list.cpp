// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The task list against lists that the vendor's planner wrote for the same sequences, and against what every list must
// be: work in order, without gaps, all of it.
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "ops/sparse_attention/blocking.h"
#include "ops/sparse_attention/task_columns.h"
#include "ops/sparse_attention/task_list.h"

using namespace acl_attn::ops::sparse;

namespace {

using Words = std::vector<uint32_t>;
using Sequences = std::vector<TaskSequence>;

void expect(bool ok, const std::string& what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    check_that(ok, what.c_str(), file, line);
}

constexpr Operator kMla = Operator::sparse_flash_mla;
constexpr Operator kQuant = Operator::kv_quant_sparse_attn_sharedkv;

// A call with the usual window. `topk` > 0: compressed rows are listed.
TaskRules rules_of(Operator op, ChipFamily family, int64_t heads, Cores cores, bool has_cmp, int64_t topk,
                   int64_t ratio) {
    TaskRules r;
    r.heads = heads;
    r.blocking = blocking_of(op, family, heads, topk > 0);
    r.cores = cores;
    r.has_ori = true;
    r.has_cmp = has_cmp;
    r.cmp_topk = topk;
    r.cmp_ratio = ratio;
    r.ori_mask_mode = 4;
    r.cmp_mask_mode = has_cmp ? 3 : 0;
    r.win_left = 127;
    r.win_right = 0;
    r.cmp_follows_ori = op == kQuant;
    return r;
}

Words list_of(const TaskRules& rules, const Sequences& sequences) {
    Words words(kMetadataWords, 0xdeadbeef);
    write_task_list(rules, sequences, words.data());
    for (int i = kTaskWords; i < kMetadataWords; ++i) expect(words[static_cast<size_t>(i)] == 0xdeadbeef, "tail");
    words.resize(kTaskWords);
    return words;
}

void core(Words& words, int index, uint32_t b0, uint32_t m0, uint32_t s0, uint32_t b1, uint32_t m1, uint32_t s1,
          uint32_t slot = 0, uint32_t most = 0) {
    const uint32_t fields[] = {1, b0, m0, s0, b1, m1, s1, slot, most};
    for (int k = 0; k < kCubeFields; ++k) words[static_cast<size_t>(cube_word(index) + k)] = fields[k];
}

void same(const Words& got, const Words& want, const std::string& name) {
    for (size_t i = 0; i < want.size(); ++i) {
        expect(got[i] == want[i], name + ": word " + std::to_string(i) + " is " + std::to_string(got[i]) +
                                      ", expected " + std::to_string(want[i]));
    }
}

void test_known_lists() {
    const Cores a2{24, 48}, small{4, 8}, a5{32, 64};
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 1, 0, 0);
        core(want, 1, 1, 0, 0, 1, 1, 0);
        core(want, 2, 1, 1, 0, 1, 2, 0);
        core(want, 3, 1, 2, 0, 2, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, true, 512, 4), {{1, 2050, 512, 2}, {3, 4100, 1025, 0}}),
             want, "selected rows");
    }
    {
        Words want(kTaskWords, 0);
        for (uint32_t i = 0; i < 22; ++i) core(want, static_cast<int>(i), 0, i, 0, 0, i + 1, 0);
        core(want, 22, 0, 22, 0, 0, 24, 0);
        core(want, 23, 0, 24, 0, 1, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, false, 0, 1), {{100, 100, 0, 0}}), want, "window");
    }
    {
        Words want(kTaskWords, 0);
        for (int i : {0, 1}) core(want, i, 0, 0, 0, 1, 0, 0, 0, 6);
        for (int i : {2, 3}) core(want, i, 1, 0, 0, 2, 0, 0, 0, 6);
        same(list_of(rules_of(kMla, ChipFamily::a5, 128, small, true, 512, 4), {{1, 2050, 512, 2}, {2, 600, 150, 0}}),
             want, "shared heads");
    }
    {
        TaskRules r = rules_of(kMla, ChipFamily::a2_a3, 64, a2, true, 0, 128);
        r.is_batch_consistent = true;
        Words want(kTaskWords, 0);
        for (uint32_t i = 0; i < 5; ++i) core(want, static_cast<int>(i), 0, 0, i, 0, 0, i + 1, i);
        core(want, 5, 0, 0, 5, 1, 0, 0, 5);
        for (uint32_t v = 0; v < 32; ++v) {
            const uint32_t fields[] = {1, 0, 0, 0, 6, 2 * v, 2, 0};
            for (int k = 0; k < kVectorFields; ++k)
                want[static_cast<size_t>(vector_word(static_cast<int>(v)) + k)] = fields[k];
        }
        same(list_of(r, {{1, 300000, 2343, 96}}), want, "a row cut for several cores");
    }
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 2, 0, 0);
        same(list_of(rules_of(kMla, ChipFamily::a2_a3, 64, a2, false, 0, 1), {{0, 5, 0, 0}, {0, 7, 0, 0}}), want,
             "nothing to do");
    }
    {
        Words want(kTaskWords, 0);
        core(want, 0, 0, 0, 0, 1, 0, 0);
        core(want, 1, 1, 0, 0, 1, 1, 0);
        core(want, 2, 1, 1, 0, 2, 0, 0);
        same(list_of(rules_of(kQuant, ChipFamily::a5, 64, a5, true, 512, 4), {{1, 2050, 512, 0}, {2, 600, 150, 0}}),
             want, "packed, selected rows");
    }
    {
        Words want(kTaskWords, 0);
        for (int i : {0, 1}) core(want, i, 0, 0, 0, 1, 1, 0, 0, 2);
        for (int i : {2, 3}) core(want, i, 1, 1, 0, 2, 0, 0, 0, 2);
        same(list_of(rules_of(kQuant, ChipFamily::a5, 128, small, false, 0, 1), {{1, 2050, 0, 0}, {2, 600, 0, 0}}),
             want, "packed, window");
    }
}

}  // namespace

int main() {
    test_known_lists();
    return check_result();
}
