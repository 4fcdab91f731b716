// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Times the engine with quantised queries, and beside each scheme the same call in bf16:
// bench_full_quant [threads [target [filter]]].
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench_support.h"
#include "engine/attention.h"

using namespace acl_attn::engine;

namespace {

using Kind = FullQuant::Kind;

// Processor time, the sum of all threads': a busy machine disturbs it little.
double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Case {
    const char* name;
    Kind kind;
    Dtype dtype;
    int32_t heads, kv_heads, dim, rope_dim;
    int64_t q_len, kv_len;
    bool causal;
};

// Finite numbers of any of the types; about 1 as bf16.
std::vector<uint8_t> numbers(Dtype dtype, int64_t elements) {
    std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(dtype, elements)));
    for (size_t i = 0; i < bytes.size(); i++) {
        const int random = std::rand() >> 8;
        bytes[i] = static_cast<uint8_t>(dtype == Dtype::i8     ? random
                                        : dtype == Dtype::e8m0 ? 121
                                        : dtype == Dtype::bf16 ? (i % 2 == 0 ? random : 0x3f)
                                                               : (random & 0x97) | 0x08);
    }
    return bytes;
}

double time(const Case& c, bool is_quantised) {
    Problem p;
    p.dtype = p.kv_dtype = is_quantised ? c.dtype : Dtype::bf16;
    p.out_dtype = Dtype::bf16;
    p.heads = c.heads;
    p.kv_heads = c.kv_heads;
    p.dim = p.dim_v = c.dim;
    p.rope_dim = c.rope_dim;
    p.value_is_key = c.kind == Kind::mla;
    p.scale = c.dtype == Dtype::i8 ? 1e-3f : 0.05f;
    p.query = p.out = {c.heads * c.dim, c.dim};
    p.query_rope = {c.heads * c.rope_dim, c.rope_dim};
    p.key = p.value = {c.kv_heads * c.dim, 0, 0, c.dim};
    p.key_rope = {c.kv_heads * c.rope_dim, 0, 0, c.rope_dim};
    if (is_quantised) p.full_quant.kind = c.kind;
    const int64_t groups = c.dim / 32, group = c.heads / c.kv_heads;
    const bool is_mx = c.kind == Kind::mx_f8;
    p.full_quant.query_scale = is_mx ? QueryScaleLayout{c.heads * groups, group * groups, groups}
                                     : QueryScaleLayout{c.heads, group, 1};
    p.full_quant.key_scale = is_mx ? LineScaleLayout{groups, 0, c.kv_heads * groups, 0, 2, 1}
                                   : LineScaleLayout{c.kv_len, 0, 1, 0, 0, 1};
    p.full_quant.value_scale = {2 * c.dim, 0, 2, 0, 2 * c.kv_heads * c.dim, 1};
    Sequence s;
    s.q_len = c.q_len;
    s.kv_len = c.kv_len;
    s.key_head_stride = s.value_head_stride = c.dim;
    s.key_rope_head_stride = c.rope_dim;
    if (c.causal) s.band.last = c.kv_len - c.q_len;
    p.sequences.push_back(s);

    const auto q = numbers(p.dtype, c.q_len * c.heads * c.dim), k = numbers(p.dtype, c.kv_len * c.kv_heads * c.dim),
               v = numbers(p.dtype, c.kv_len * c.kv_heads * c.dim),
               qr = numbers(Dtype::bf16, c.q_len * c.heads * c.rope_dim),
               kr = numbers(Dtype::bf16, c.kv_len * c.kv_heads * c.rope_dim);
    const std::vector<uint8_t> e8m0 = numbers(Dtype::e8m0, c.kv_len * c.heads * c.dim);
    const std::vector<float> ones(static_cast<size_t>(std::max(c.kv_len, c.q_len) * c.heads), 1.0f);
    const void* scales = is_mx ? static_cast<const void*>(e8m0.data()) : ones.data();
    std::vector<uint16_t> out(static_cast<size_t>(c.q_len * c.heads * c.dim));
    const void *key = k.data(), *value = v.data();
    const float weight_scale = c.dtype == Dtype::i8 ? 127.0f : 1.0f;
    Operands o;
    o.query = q.data();
    o.key = &key;
    o.value = &value;
    o.query_rope = qr.data();
    o.key_rope = kr.data();
    o.out = out.data();
    o.query_scale = o.key_scale = o.value_scale = scales;
    o.deq_scale1 = o.deq_scale2 = ones.data();
    o.quant_scale1 = &weight_scale;
    const auto plan = Attention::plan(p);
    std::vector<char> workspace(plan->workspace_bytes());
    plan->run(o, workspace.data());
    std::vector<double> times;
    const double start = now();
    while (times.size() < 5 || (now() - start < 0.5 && times.size() < 100000)) {
        const double t0 = now();
        plan->run(o, workspace.data());
        times.push_back(now() - t0);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void bench(const Case& c) {
    const double pairs = static_cast<double>(c.causal ? c.q_len * (c.kv_len - c.q_len) + c.q_len * (c.q_len + 1) / 2
                                                      : c.q_len * c.kv_len);
    const double operations = 2.0 * (2 * c.dim + c.rope_dim) * c.heads * pairs;
    const double quantised = time(c, true), bf16 = time(c, false);
    std::printf("%-34s %10.1f us %8.1f Gop/s; bf16 %10.1f us %8.1f GFLOP/s; ratio %.2f\n", c.name, quantised * 1e6,
                operations / quantised * 1e-9, bf16 * 1e6, operations / bf16 * 1e-9, bf16 / quantised);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (!engine_bench::configure(argc, argv)) return 1;
    std::printf("%s, %d threads (%s)\n", target_name(target_in_use()), thread_count(), cpu_features().c_str());
    const Dtype i8 = Dtype::i8, f8 = Dtype::f8_e4m3;
    const Case cases[] = {
        {"per tensor int8 s1024", Kind::per_tensor_i8, i8, 16, 16, 128, 0, 1024, 1024, false},
        {"per tensor int8 s4096 causal 8:2", Kind::per_tensor_i8, i8, 8, 2, 128, 0, 4096, 4096, true},
        {"mla int8 kv8192", Kind::mla, i8, 128, 1, 512, 64, 1, 8192, false},
        {"mla fp8 kv8192", Kind::mla, f8, 128, 1, 512, 64, 1, 8192, false},
        {"mla hif8 kv8192", Kind::mla, Dtype::hif8, 128, 1, 512, 64, 1, 8192, false},
        {"gqa fp8 s1024", Kind::gqa_f8, f8, 16, 16, 128, 0, 1024, 1024, false},
        {"gqa fp8 decode kv8192 32:8", Kind::gqa_f8, f8, 32, 8, 128, 0, 1, 8192, false},
        {"mxfp8 s1024", Kind::mx_f8, f8, 16, 16, 128, 0, 1024, 1024, false},
        {"mxfp8 s4096 causal 8:2", Kind::mx_f8, f8, 8, 2, 128, 0, 4096, 4096, true},
        {"mxfp8 decode kv8192 32:8", Kind::mx_f8, f8, 32, 8, 128, 0, 1, 8192, false},
    };
    for (const Case& c : cases) {
        if (argc <= 3 || std::strstr(c.name, argv[3]) != nullptr) bench(c);
    }
    return 0;
}
