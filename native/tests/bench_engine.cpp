// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Times the engine alone: bench_engine [threads [target [filter]]].
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench_support.h"
#include "engine/attention.h"
#include "formats/half.h"

using namespace acl_attn::engine;
using namespace engine_bench;

namespace {

using Codes = Large<uint16_t>;

// What shares a scale of stored keys and values: a head's channels over all tokens, tokens over all heads, or 32
// channels of a head's token.
enum class Scales { channel, token, group };

struct Case {
    const char* name;
    Dtype dtype;
    int32_t batch, heads, kv_heads, dim;
    int64_t q_len, kv_len;
    bool causal;
    int32_t block_size = 0;
    Dtype kv_dtype = dtype;
    Scales scales = Scales::channel;  // of stored keys and values
    bool heads_outside = false;       // of tokens
    bool has_offsets = false;         // beside scales
};

void bench(const Case& c) {
    Problem p;
    p.dtype = p.out_dtype = c.dtype;
    p.kv_dtype = c.kv_dtype;
    p.heads = c.heads;
    p.kv_heads = c.kv_heads;
    p.dim = p.dim_v = c.dim;
    p.scale = 0.088f;
    p.query = p.out = {c.heads * c.dim, c.dim};
    const int64_t token_stride = c.heads_outside ? c.dim : c.kv_heads * c.dim;
    const int64_t head_stride = c.heads_outside ? c.kv_len * c.dim : c.dim;
    const int64_t groups = (c.dim + 31) / 32;
    p.key = p.value = {token_stride, int64_t{c.block_size} * c.kv_heads * c.dim, 0, c.dim};
    p.block_size = c.block_size;
    std::vector<int32_t> table;
    int64_t pairs = 0;
    for (int32_t b = 0; b < c.batch; b++) {
        Sequence s;
        s.q_len = c.q_len;
        s.kv_len = c.kv_len;
        s.key_head_stride = s.value_head_stride = head_stride;
        s.q_offset = s.out_offset = b * c.q_len * p.query.token_stride;
        if (c.block_size == 0) s.key_offset = s.value_offset = b * c.kv_len * c.kv_heads * c.dim;
        if (c.scales == Scales::token) s.key_scale_offset = s.value_scale_offset = b * c.kv_len;
        if (c.scales == Scales::group) s.key_scale_offset = s.value_scale_offset = b * c.kv_heads * c.kv_len * groups;
        s.table_offset = static_cast<int64_t>(table.size());
        for (int64_t t = 0; c.block_size > 0 && t < c.kv_len; t += c.block_size) {
            table.push_back(static_cast<int32_t>(table.size()));
        }
        if (c.causal) s.band.last = c.kv_len - c.q_len;
        p.sequences.push_back(s);
        pairs += c.causal ? c.q_len * (c.kv_len - c.q_len) + c.q_len * (c.q_len + 1) / 2 : c.q_len * c.kv_len;
    }
    p.block_count = static_cast<int64_t>(table.size());
    for (size_t i = table.size(); i > 1; i--) std::swap(table[i - 1], table[static_cast<size_t>(std::rand()) % i]);
    const auto fill = [&](int64_t n) {
        Codes x(static_cast<size_t>(n));
        for (uint16_t& v : x) {
            const float f = static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) * 3.4f - 1.7f;
            v = c.dtype == Dtype::f16 ? acl_attn::formats::encode_f16(f) : acl_attn::formats::encode_bf16(f);
        }
        return x;
    };
    const Codes q = fill(c.batch * c.q_len * c.heads * c.dim);
    const int64_t stored = c.batch * c.kv_len * c.kv_heads * c.dim;
    const size_t key_bytes = static_cast<size_t>(bytes_of(c.kv_dtype, stored));
    Codes stored_codes = fill(2 * stored);  // keys, then values
    const int64_t scale_count = std::max<int64_t>(c.kv_heads * c.dim, c.batch * c.kv_len);
    const std::vector<float> scales(static_cast<size_t>(scale_count), 0.01f);
    Large<uint8_t> group_scales[2];  // of keys and values
    if (c.kv_dtype != c.dtype) {
        if (c.kv_dtype != Dtype::f4_e2m1) {
            for (uint16_t& two : stored_codes) two &= 0x3f3f;  // no infinity, no NaN
        }
        p.key_dequant.has_scale = true;
        p.key_dequant.has_offset = c.has_offsets;
        ScaleLayout& layout = p.key_dequant.layout;
        switch (c.scales) {
            case Scales::channel:
                layout.head_stride = c.dim;
                layout.group_stride = 1;
                break;
            case Scales::token:
                layout.token_stride = 1;
                layout.group = c.dim;
                break;
            case Scales::group:
                layout.dtype = Dtype::e8m0;
                layout.group = 32;
                layout.group_stride = 1;
                layout.token_stride = groups;
                layout.head_stride = c.kv_len * groups;
                for (Large<uint8_t>& each : group_scales) {
                    each.resize(static_cast<size_t>(c.batch * c.kv_heads * c.kv_len * groups));
                    for (uint8_t& exponent : each) exponent = static_cast<uint8_t>(124 + std::rand() % 4);
                }
                break;
        }
        p.value_dequant = p.key_dequant;
    }
    Codes out(q.size());
    const char* const key_start = reinterpret_cast<const char*>(stored_codes.data());
    const void *key = key_start, *value = key_start + key_bytes;
    Operands operands;
    operands.query = q.data();
    operands.key = &key;
    operands.value = &value;
    operands.key_scale = operands.value_scale = operands.key_offset = operands.value_offset = scales.data();
    if (c.scales == Scales::group) {
        operands.key_scale = group_scales[0].data();
        operands.value_scale = group_scales[1].data();
    }
    operands.block_table = table.data();
    operands.out = out.data();
    const auto plan = Attention::plan(p);
    Large<char> workspace(plan->workspace_bytes());
    plan->run(operands, workspace.data());
    // The limit: reading them, between runs because machines are shared, and not so often that it takes the time.
    constexpr size_t kSmall = size_t{16} << 20;
    const size_t runs_between = key_bytes < kSmall ? 1000 : 4;
    std::vector<double> times, rates;
    const double start = now();
    while (times.size() < 7 || (now() - start < 0.7 && times.size() < 100000)) {
        const double t0 = now();
        plan->run(operands, workspace.data());
        times.push_back(now() - t0);
        if (times.size() % runs_between != 1) continue;
        rates.push_back(read_rate(thread_count(), key_start, 2 * key_bytes));
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    const double flops = 4.0 * c.dim * c.heads * static_cast<double>(pairs);
    const double bytes = 2.0 * static_cast<double>(key_bytes);
    const double rate = engine_bench::median(rates);
    const double bytes_read = bytes / median;
    std::printf("%-34s %10.1f us (min %10.1f) %8.1f GFLOP/s %7.2f GB/s of K and V (%3.0f %% of reads)\n", c.name,
                median * 1e6, times[0] * 1e6, flops / median * 1e-9, bytes_read * 1e-9, 100 * bytes_read / rate);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (!engine_bench::configure(argc, argv)) return 1;
    std::printf("%s, %d threads (%s)\n", target_name(target_in_use()), thread_count(), cpu_features().c_str());
    std::printf("limit of its products: %.0f GFLOP/s\n", 2e-9 * multiply_rate(thread_count()));
    const Dtype f16 = Dtype::f16, bf16 = Dtype::bf16, i8 = Dtype::i8;
    const Case cases[] = {
        {"prefill bf16 s1024", bf16, 1, 32, 32, 128, 1024, 1024, false},
        {"prefill bf16 s1024 causal", bf16, 1, 32, 32, 128, 1024, 1024, true},
        {"prefill fp16 s1024", f16, 1, 32, 32, 128, 1024, 1024, false},
        {"prefill fp16 s1024 causal", f16, 1, 32, 32, 128, 1024, 1024, true},
        {"prefill bf16 s4096 causal 8:2", bf16, 1, 8, 2, 128, 4096, 4096, true},
        {"prefill bf16 s128 b4", bf16, 4, 8, 8, 128, 128, 128, false},
        {"prefill bf16 s1024 d64", bf16, 1, 32, 32, 64, 1024, 1024, false},
        {"prefill bf16 s1024 d256", bf16, 1, 16, 16, 256, 1024, 1024, false},
        {"prefill bf16 s1024 d512", bf16, 1, 8, 8, 512, 1024, 1024, false},
        {"absorbed bf16 kv8192 128:1 d512", bf16, 1, 128, 1, 512, 1, 8192, false},
        {"decode bf16 b1 kv8192 32:8", bf16, 1, 32, 8, 128, 1, 8192, false},
        {"decode bf16 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false},
        {"decode bf16 b8 kv8192 32:8 paged", bf16, 8, 32, 8, 128, 1, 8192, false, 16},
        {"decode fp16 b8 kv8192 32:8", f16, 8, 32, 8, 128, 1, 8192, false},
        {"decode bf16 b8 q2 kv8192 32:8", bf16, 8, 32, 8, 128, 2, 8192, true},
        {"decode bf16 b8 q4 kv8192 32:8", bf16, 8, 32, 8, 128, 4, 8192, true},
        {"decode bf16 b8 q8 kv8192 32:8", bf16, 8, 32, 8, 128, 8, 8192, true},
        {"decode bf16 b8 q16 kv8192 32:8", bf16, 8, 32, 8, 128, 16, 8192, true},
        {"decode bf16 b8 q2 kv8192 32:8 BNSD", bf16, 8, 32, 8, 128, 2, 8192, true, 0, bf16, Scales::channel, true},
        {"decode bf16 b8 q4 kv8192 32:8 BNSD", bf16, 8, 32, 8, 128, 4, 8192, true, 0, bf16, Scales::channel, true},
        {"decode bf16 b8 q8 kv8192 32:8 BNSD", bf16, 8, 32, 8, 128, 8, 8192, true, 0, bf16, Scales::channel, true},
        {"decode bf16 b8 q16 kv8192 32:8 BNSD", bf16, 8, 32, 8, 128, 16, 8192, true, 0, bf16, Scales::channel, true},
        {"decode bf16 b8 q4 kv8192 32:8 paged", bf16, 8, 32, 8, 128, 4, 8192, true, 16},
        {"decode bf16 b1 q2 kv512 4:1", bf16, 1, 4, 1, 128, 2, 512, true},
        {"decode bf16 b1 q4 kv512 4:1", bf16, 1, 4, 1, 128, 4, 512, true},
        {"decode bf16 b1 q8 kv512 4:1", bf16, 1, 4, 1, 128, 8, 512, true},
        {"decode bf16 b1 q16 kv512 4:1", bf16, 1, 4, 1, 128, 16, 512, true},
        {"decode bf16 b8 kv8192 64:4", bf16, 8, 64, 4, 128, 1, 8192, false},
        {"decode bf16 b8 kv8192 64:4 BNSD", bf16, 8, 64, 4, 128, 1, 8192, false, 0, bf16, Scales::channel, true},
        {"decode i8 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false, 0, i8},
        {"decode i8 b8 kv8192 32:8 paged", bf16, 8, 32, 8, 128, 1, 8192, false, 16, i8},
        {"decode e4m3 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f8_e4m3},
        {"decode hif8 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::hif8},
        {"decode i4 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::i4},
        {"decode i8 b8 kv8192 32:8 tokens", bf16, 8, 32, 8, 128, 1, 8192, false, 0, i8, Scales::token},
        {"decode i8 b8 kv8192 32:8 offsets", bf16, 8, 32, 8, 128, 1, 8192, false, 0, i8, Scales::channel, false, true},
        {"decode e4m3 b8 kv8192 32:8 tokens", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f8_e4m3, Scales::token},
        {"decode e4m3 b8 kv8192 32:8 BNSD tokens", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f8_e4m3,
         Scales::token, true},
        {"decode i4 b8 kv8192 32:8 tokens", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::i4, Scales::token},
        {"decode e2m1 b8 kv8192 32:8", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f4_e2m1, Scales::group},
        {"decode e2m1 fp16 b8 kv8192 32:8", f16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f4_e2m1, Scales::group},
        {"decode e2m1 b8 kv8192 32:8 BNSD", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::f4_e2m1, Scales::group,
         true},
        {"decode i4 b8 kv8192 32:8 BNSD tokens", bf16, 8, 32, 8, 128, 1, 8192, false, 0, Dtype::i4, Scales::token,
         true},
        {"decode e2m1 b8 kv8192 32:8 d64", bf16, 8, 32, 8, 64, 1, 8192, false, 0, Dtype::f4_e2m1, Scales::group},
        {"decode i8 b8 kv4096 8:8", bf16, 8, 8, 8, 128, 1, 4096, false, 0, i8},
        {"prefill i8 s1024", bf16, 1, 32, 32, 128, 1024, 1024, false, 0, i8},
        {"decode bf16 b1 kv1024 32:8", bf16, 1, 32, 8, 128, 1, 1024, false},
        {"decode i8 b1 kv1024 32:8", bf16, 1, 32, 8, 128, 1, 1024, false, 0, i8},
        {"decode e2m1 b1 kv1024 32:8", bf16, 1, 32, 8, 128, 1, 1024, false, 0, Dtype::f4_e2m1, Scales::group},
        {"decode bf16 b1 kv256 32:8", bf16, 1, 32, 8, 128, 1, 256, false},
        {"decode bf16 b8 kv4096 8:8", bf16, 8, 8, 8, 128, 1, 4096, false},
        {"decode fp16 b1 h1 kv1 d16", f16, 1, 1, 1, 16, 1, 1, false},
        {"decode fp16 b1 h8 kv16 d64", f16, 1, 8, 8, 64, 1, 16, false},
    };
    for (const Case& c : cases) {
        if (argc <= 3 || std::strstr(c.name, argv[3]) != nullptr) bench(c);
    }
    return 0;
}
