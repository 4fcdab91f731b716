// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What phase one of a plain decode call costs under each profile, rules and plan included, and executors destroyed.
// Prints the fastest and the median of many rounds, in microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "acl_attn/rules.h"
#include "two_phase_call.h"

using namespace two_phase;

static double microseconds(const Arguments& a, char* layout, int count) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        const aclnnStatus status = aclnnFusedInferAttentionScoreV5GetWorkspaceSize(
            a.query, a.key, a.value, nullptr, nullptr, nullptr, a.actual_seq_lengths_kv, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, nullptr, a.block_table, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, a.num_heads,
            a.scale_value, a.pre_tokens, a.next_tokens, layout, a.num_key_value_heads, 0, 1, a.block_size, 0, false, 0,
            0, 0, 0, a.attention_out, nullptr, &size, &executor);
        if (status != 0) {
            std::printf("refused: %s\n", recent_message().c_str());
            std::exit(1);
        }
        aclDestroyAclOpExecutor(executor);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    return took.count() / count;
}

static void bench(const char* name, const Arguments& a) {
    std::string layout = a.input_layout;
    for (int i = 0; i < ACL_ATTN_PROFILE_COUNT; ++i) {
        const auto profile = static_cast<aclAttnProfile>(i);
        aclAttnSetProfile(0, profile);
        std::vector<double> rounds;
        for (int round = 0; round < 200; ++round) rounds.push_back(microseconds(a, layout.data(), 50));
        std::sort(rounds.begin(), rounds.end());
        std::printf("%-8s %-14s %6.2f us  median %6.2f us\n", name, aclAttnGetProfileName(profile), rounds.front(),
                    rounds[rounds.size() / 2]);
    }
}

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    constexpr int64_t heads = 32, kv_heads = 8, dim = 128, tokens = 1024, block = 128;
    std::vector<uint16_t> q(heads * dim), kv(2 * kv_heads * tokens * dim), out(heads * dim);
    std::vector<int32_t> table(tokens / block);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i);
    Objects objects;
    Arguments a;
    a.query = objects.tensor({1, heads, 1, dim}, ACL_FLOAT16, q.data());
    a.attention_out = objects.tensor({1, heads, 1, dim}, ACL_FLOAT16, out.data());
    a.key = objects.list({objects.tensor({1, kv_heads, tokens, dim}, ACL_FLOAT16, kv.data())});
    a.value = objects.list({objects.tensor({1, kv_heads, tokens, dim}, ACL_FLOAT16, kv.data() + kv.size() / 2)});
    a.input_layout = "BNSD";
    a.num_heads = heads;
    a.num_key_value_heads = kv_heads;
    a.actual_seq_lengths_kv = objects.ints({1000});
    bench("decode", a);
    const int64_t blocks = tokens / block;
    a.key = objects.list({objects.tensor({blocks, kv_heads, block, dim}, ACL_FLOAT16, kv.data())});
    a.value = objects.list({objects.tensor({blocks, kv_heads, block, dim}, ACL_FLOAT16, kv.data() + kv.size() / 2)});
    a.block_table = objects.tensor({1, blocks}, ACL_INT32, table.data());
    a.block_size = block;
    bench("paged", a);
    return 0;
}
