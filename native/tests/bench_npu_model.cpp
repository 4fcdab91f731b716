// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Not a test: what the cost model says of known calls on both chips. Nothing is computed, only counted; nothing has run
// on an NPU. Usage: bench_npu_model [name of a call], default all. The environment may ask for more: sim/profile.h.
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "ascendc/launch/attention.h"

namespace {

using namespace acl_attn;
using engine::Dtype;

struct Scenario {
    const char* name;
    const char* what;
    int64_t batch;
    int64_t q_len;
    int64_t kv_len;
    int32_t heads;
    int32_t kv_heads;
    int32_t dim;
    int32_t dim_v;
    int32_t rope_dim;
    bool latent;  // values are the first channels of the keys
    int32_t block_size;
};

constexpr Scenario kScenarios[] = {
    {"llama-3-8b-prefill", "1 sequence of 4096 tokens, 32 heads over 8, 128 channels, causal", 1, 4096, 4096, 32, 8,
     128, 128, 0, false, 0},
    {"llama-3-8b-decode", "32 sequences of 4096 tokens, 32 heads over 8, 128 channels, blocks of 128", 32, 1, 4096, 32,
     8, 128, 128, 0, false, 128},
    {"deepseek-v3-mla-decode", "32 sequences of 4096 tokens, 128 heads over 1, 512 + 64 channels, blocks of 128", 32, 1,
     4096, 128, 1, 512, 512, 64, true, 128},
};

// Address space that nobody touches costs nothing.
void* reserve(uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::perror("mmap"), std::exit(1);
    return memory;
}

struct Call {
    engine::Problem problem;
    engine::Operands operands;
    const void* key = nullptr;
    const void* value = nullptr;
    std::vector<int32_t> table;

    explicit Call(const Scenario& s) {
        engine::Problem& p = problem;
        p.dtype = p.kv_dtype = p.out_dtype = Dtype::bf16;
        p.heads = s.heads;
        p.kv_heads = s.kv_heads;
        p.dim = s.dim;
        p.dim_v = s.dim_v;
        p.rope_dim = s.rope_dim;
        p.value_is_key = s.latent;
        p.scale = 1.0f / std::sqrt(static_cast<float>(s.dim + s.rope_dim));
        p.query = {int64_t{s.heads} * s.dim, s.dim};
        p.out = {int64_t{s.heads} * s.dim_v, s.dim_v};
        p.query_rope = {int64_t{s.heads} * s.rope_dim, s.rope_dim};
        const auto rows = [&](int32_t dim) {
            const int64_t token = int64_t{s.kv_heads} * dim;
            return engine::KvLayout{token, token * s.block_size, 0, dim};
        };
        p.key = rows(s.dim);
        p.value = rows(s.dim_v);
        p.key_rope = rows(s.rope_dim);
        p.block_size = s.block_size;
        const int64_t columns = s.block_size == 0 ? 0 : s.kv_len / s.block_size;
        p.block_count = columns * s.batch;
        for (int64_t b = 0; b < s.batch; b++) {
            engine::Sequence sequence;
            sequence.q_len = s.q_len;
            sequence.kv_len = s.kv_len;
            sequence.q_offset = b * s.q_len * p.query.token_stride;
            sequence.out_offset = b * s.q_len * p.out.token_stride;
            sequence.query_rope_offset = b * s.q_len * p.query_rope.token_stride;
            sequence.key_head_stride = s.dim;
            sequence.value_head_stride = s.dim_v;
            sequence.key_rope_head_stride = s.rope_dim;
            sequence.table_offset = b * columns;
            sequence.band.last = s.kv_len - s.q_len;
            if (s.block_size == 0) {
                sequence.key_offset = b * s.kv_len * p.key.token_stride;
                sequence.value_offset = b * s.kv_len * p.value.token_stride;
            }
            p.sequences.push_back(sequence);
        }
        for (int64_t i = 0; i < p.block_count; i++) table.push_back(static_cast<int32_t>(i));
        const uint64_t tokens = static_cast<uint64_t>(s.batch * s.kv_len),
                       queries = static_cast<uint64_t>(s.batch * s.q_len);
        key = reserve(tokens * static_cast<uint64_t>(p.key.token_stride) * 2);
        value = s.latent ? nullptr : reserve(tokens * static_cast<uint64_t>(p.value.token_stride) * 2);
        operands.key = &key;
        operands.value = &value;
        operands.query = reserve(queries * static_cast<uint64_t>(p.query.token_stride) * 2);
        operands.out = reserve(queries * static_cast<uint64_t>(p.out.token_stride) * 2);
        if (s.rope_dim > 0) {
            operands.query_rope = reserve(queries * static_cast<uint64_t>(p.query_rope.token_stride) * 2);
            operands.key_rope = reserve(tokens * static_cast<uint64_t>(p.key_rope.token_stride) * 2);
        }
        operands.block_table = table.data();
    }
};

bool estimate(const Scenario& scenario, const ascendc::Chip& chip) {
    Call call(scenario);
    const std::string lacking = ascendc::unsupported(call.problem, chip);
    if (!lacking.empty()) {
        std::printf("%s on dav-%d: no kernel instantiation serves %s\n", scenario.name, chip.architecture,
                    lacking.c_str());
        return true;
    }
    const auto plan = ascendc::plan(call.problem, chip);
    void* memory = reserve(plan->workspace_bytes());
    std::printf("== %s on dav-%d: %s\n%s\n", scenario.name, chip.architecture, scenario.what, plan->describe().c_str());
    std::fflush(stdout);
    const engine::Fault fault = plan->run(call.operands, memory);
    if (fault.failed || fault.found) std::printf("failed: %s\n", fault.failure.c_str());
    munmap(memory, plan->workspace_bytes());
    return !fault.failed && !fault.found;
}

}  // namespace

int main(int argc, char** argv) {
    const char* report = std::getenv("ACL_ATTN_SIM_REPORT");
    const std::string file = report != nullptr ? report : "/dev/stdout";
    setenv("ACL_ATTN_SIM_REPORT", file.c_str(), 1);
    setenv("ACL_ATTN_SIM_DRY", "1", 1);
    bool ok = true;
    for (const Scenario& scenario : kScenarios) {
        if (argc > 1 && std::strcmp(argv[1], scenario.name) != 0) continue;
        ok = estimate(scenario, {2201, 24}) && ok;
        ok = estimate(scenario, {3510, 32}) && ok;
    }
    return ok ? 0 : 1;
}
