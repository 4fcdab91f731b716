// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Times kinds of prefill in turns: bench_prefill [threads [target [filter [seconds]]]]. What counts is each one's rate
// beside that of the call it is compared with, because machines are shared; a filter of "=name" runs one call alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench_support.h"
#include "engine/attention.h"
#include "formats/half.h"

using namespace acl_attn::engine;
using namespace engine_bench;

namespace {

using Codes = Large<uint16_t>;

struct Lengths {
    int64_t q, kv;
};

struct Case {
    const char* name;
    const char* own;  // the case to compare with
    int32_t heads, kv_heads, dim;
    std::vector<Lengths> lengths;
    enum Mask { open, causal, window, causal_tensor, tree } mask = open;
    enum Adds { nothing, bias, shared_bias, sink, rope } adds = nothing;
    Dtype dtype = Dtype::bf16;
    Dtype kv_dtype = dtype;
    // Of a stored kv_dtype: those of channels are of the query's type, of groups of 32 in a token E8M0, others fp32.
    enum Scales { tensor, channel, token, group } key_scales = tensor, value_scales = tensor;
};

constexpr int64_t kWindow = 512;

bool is_hidden(const Case& c, Lengths s, int64_t q, int64_t k) {
    const int64_t distance = q + s.kv - s.q - k;
    switch (c.mask) {
        case Case::open: return false;
        case Case::window: return distance < 0 || distance >= kWindow;
        case Case::tree: return distance < 0 || (distance > 0 && distance * 2654435761u % 64 < 8);
        default: return distance < 0;
    }
}

Codes numbers(int64_t n, Dtype dtype) {
    Codes x(static_cast<size_t>(n));
    uint32_t state = 1;
    for (uint16_t& v : x) {
        state = state * 1664525 + 1013904223;
        const float f = static_cast<float>(state >> 8) / 16777216.0f * 3.4f - 1.7f;
        v = dtype == Dtype::f16 ? acl_attn::formats::encode_f16(f) : acl_attn::formats::encode_bf16(f);
    }
    return x;
}

// About 1 in the end.
Large<float> scales(int64_t n, Dtype dtype) {
    Large<float> x(static_cast<size_t>(n));
    const float size = dtype == Dtype::i8 ? 0.01f : dtype == Dtype::i4 ? 0.2f : 1.0f;
    for (size_t i = 0; i < x.size(); i++) x[i] = size * (1.0f + static_cast<float>(i * 2654435761u % 64) / 64);
    return x;
}

// `n` elements of any type of at most 16 bits: codes are numbers, E4M3 without NaN.
Codes stored(int64_t n, Dtype dtype) {
    Codes x = numbers(n, Dtype::bf16);
    if (dtype == Dtype::f8_e4m3) {
        for (uint16_t& v : x) v = static_cast<uint16_t>((v & 0x8f8f) | 0x3030);
    }
    return x;
}

class Bench {
public:
    explicit Bench(const Case& c) : case_(c) {
        Problem p;
        p.dtype = p.out_dtype = c.dtype;
        p.kv_dtype = c.kv_dtype;
        p.heads = c.heads;
        p.kv_heads = c.kv_heads;
        p.dim = p.dim_v = c.dim;
        p.scale = 0.088f;
        p.key = p.value = {c.dim, 0, 0, c.dim};
        int64_t q = 0, kv = 0, mask_bytes = 0, bias_numbers = 0;
        if (c.adds == Case::rope) {
            p.rope_dim = kRope;
            p.key_rope = {kRope, 0, 0, kRope};
        }
        p.has_mask = c.mask == Case::causal_tensor || c.mask == Case::tree;
        p.has_sink = c.adds == Case::sink;
        // Heads outermost, where sequences are of one length; else tokens, as in packed sequences.
        const bool is_packed = std::any_of(c.lengths.begin(), c.lengths.end(), [&](const Lengths& l) {
            return l.q != c.lengths[0].q || l.kv != c.lengths[0].kv;
        });
        const auto rows_of = [&](int64_t channels) {
            return is_packed ? RowLayout{c.heads * channels, channels} : RowLayout{channels, c.lengths[0].q * channels};
        };
        p.query = p.out = rows_of(c.dim);
        if (p.rope_dim > 0) p.query_rope = rows_of(kRope);
        if (is_packed) p.key.token_stride = p.value.token_stride = int64_t{c.kv_heads} * c.dim;
        for (const Lengths& l : c.lengths) {
            p.mask_row_stride = std::max(p.mask_row_stride, l.kv);
            if (c.adds == Case::bias || c.adds == Case::shared_bias) {
                p.bias = BiasKind::tensor;
                p.bias_row_stride = std::max(p.bias_row_stride, l.kv);
                p.bias_head_stride = c.adds == Case::bias ? l.q * l.kv : 0;
            }
        }
        for (const Lengths& l : c.lengths) {
            Sequence s;
            s.q_len = l.q;
            s.kv_len = l.kv;
            s.key_head_stride = s.value_head_stride = is_packed ? c.dim : l.kv * c.dim;
            s.q_offset = s.out_offset = q * c.heads * c.dim;
            s.key_offset = s.value_offset = kv * c.kv_heads * c.dim;
            s.query_rope_offset = q * c.heads * kRope;
            s.key_rope_offset = kv * c.kv_heads * kRope;
            s.key_rope_head_stride = l.kv * kRope;
            s.mask_offset = mask_bytes;
            s.bias_offset = bias_numbers;
            if (c.mask == Case::causal || c.mask == Case::window) s.band.last = l.kv - l.q;
            if (c.mask == Case::window) s.band.first = l.kv - l.q - kWindow + 1;
            q += l.q;
            kv += l.kv;
            if (p.has_mask) mask_bytes += l.q * p.mask_row_stride;
            bias_numbers += l.q * p.bias_row_stride * (p.bias_head_stride > 0 ? c.heads : 1);
            for (int64_t i = 0; i < l.q; i++) {
                for (int64_t k = 0; k < l.kv; k++) seen_ += !is_hidden(c, l, i, k);
            }
            p.sequences.push_back(s);
        }
        if (p.has_mask) {
            mask_.resize(static_cast<size_t>(mask_bytes));
            for (size_t n = 0; n < c.lengths.size(); n++) {
                uint8_t* row = mask_.data() + p.sequences[n].mask_offset;
                for (int64_t i = 0; i < c.lengths[n].q; i++, row += p.mask_row_stride) {
                    for (int64_t k = 0; k < c.lengths[n].kv; k++) row[k] = is_hidden(c, c.lengths[n], i, k);
                }
            }
        }
        query_ = numbers(q * c.heads * c.dim, c.dtype);
        out_ = Codes(query_.size());
        const int64_t stored_numbers = kv * c.kv_heads * c.dim;
        const bool is_stored = c.kv_dtype != c.dtype;
        key_ = is_stored ? stored(stored_numbers, c.kv_dtype) : numbers(stored_numbers, c.dtype);
        value_ = is_stored ? stored(stored_numbers, c.kv_dtype) : numbers(stored_numbers, c.dtype);
        scale_ = scales(kv * c.dim, c.kv_dtype);
        for (int32_t d = 0; d < c.dim; d++) {
            const float x = scale_[static_cast<size_t>(d)];
            narrow_scale_.push_back(c.dtype == Dtype::f16 ? acl_attn::formats::encode_f16(x)
                                                          : acl_attn::formats::encode_bf16(x));
        }
        powers_ = Large<uint8_t>(static_cast<size_t>(kv * c.dim / kGroup));
        for (size_t i = 0; i < powers_.size(); i++) powers_[i] = static_cast<uint8_t>(125 + i % 3);
        if (is_stored) {
            operands_.key_scale = add_scales(p.key_dequant, c.key_scales);
            operands_.value_scale = add_scales(p.value_dequant, c.value_scales);
        }
        query_rope_ = numbers(q * c.heads * kRope, c.dtype);
        key_rope_ = numbers(kv * c.kv_heads * kRope, c.dtype);
        bias_ = numbers(bias_numbers, c.dtype);
        sink_ = numbers(c.heads, c.dtype);
        keys_ = key_.data();
        values_ = value_.data();
        operands_.query = query_.data();
        operands_.key = &keys_;
        operands_.value = &values_;
        operands_.query_rope = query_rope_.data();
        operands_.key_rope = key_rope_.data();
        operands_.mask = mask_.data();
        operands_.bias = bias_.data();
        operands_.sink = sink_.data();
        operands_.out = out_.data();
        flops_ = (4.0 * c.dim + (p.rope_dim > 0 ? 2.0 * kRope : 0)) * c.heads * static_cast<double>(seen_);
        plan_ = Attention::plan(std::move(p));
        workspace_ = Large<char>(plan_->workspace_bytes());
        plan_->run(operands_, workspace_.data());
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    // Short calls several times, the first one not counted: the others' data are in the caches.
    void run() {
        const double begin = now();
        for (bool is_first = true; is_first || now() - begin < 0.005; is_first = false) {
            const double start = now_on(thread_count());
            plan_->run(operands_, workspace_.data());
            const double seconds = now_on(thread_count()) - start;
            if (!is_first || seconds > 0.005) times_.push_back(seconds);
        }
    }
    const Case& of() const { return case_; }
    double seconds() const { return median(times_); }
    double rate() const { return flops_ / median(times_); }

private:
    static constexpr int32_t kRope = 64, kGroup = 32;

    const void* add_scales(Dequant& dequant, Case::Scales kind) const {
        dequant.has_scale = true;
        dequant.layout.group = kind == Case::channel ? 1 : case_.dim;
        dequant.layout.group_stride = kind == Case::channel ? 1 : 0;
        dequant.layout.token_stride = kind == Case::token ? 1 : 0;
        if (kind == Case::channel) {
            dequant.layout.dtype = case_.dtype;
            return narrow_scale_.data();
        }
        if (kind != Case::group) return scale_.data();
        dequant.layout.dtype = Dtype::e8m0;
        dequant.layout.group = kGroup;
        dequant.layout.group_stride = 1;
        dequant.layout.token_stride = case_.dim / kGroup;
        return powers_.data();
    }

    const Case case_;
    int64_t seen_ = 0;
    double flops_ = 0;
    Codes query_, out_, key_, value_, query_rope_, key_rope_, bias_, sink_;
    Large<float> scale_;
    Codes narrow_scale_;
    Large<uint8_t> powers_;
    Large<uint8_t> mask_;
    const void *keys_ = nullptr, *values_ = nullptr;
    Operands operands_;
    std::unique_ptr<const Attention> plan_;
    Large<char> workspace_;
    std::vector<double> times_;
};

std::vector<Case> cases() {
    using Mask = Case::Mask;
    using Adds = Case::Adds;
    const auto same = [](size_t batch, int64_t length) { return std::vector<Lengths>(batch, {length, length}); };
    std::vector<Case> all = {
        {"plain s2048", "", 32, 32, 128, same(1, 2048)},
        {"causal s2048", "plain s2048", 32, 32, 128, same(1, 2048), Mask::causal},
        {"causal s1024", "plain s2048", 32, 32, 128, same(1, 1024), Mask::causal},
        {"mask causal s2048", "causal s2048", 32, 32, 128, same(1, 2048), Mask::causal_tensor},
        {"mask tree s2048", "causal s2048", 32, 32, 128, same(1, 2048), Mask::tree},
        {"window s2048", "causal s2048", 32, 32, 128, same(1, 2048), Mask::window},
        {"gqa causal s2048", "causal s2048", 32, 8, 128, same(1, 2048), Mask::causal},
        {"bias s2048", "plain s2048", 32, 32, 128, same(1, 2048), Mask::open, Adds::bias},
        {"shared bias s2048", "plain s2048", 32, 32, 128, same(1, 2048), Mask::open, Adds::shared_bias},
        {"sink s2048", "plain s2048", 32, 32, 128, same(1, 2048), Mask::open, Adds::sink},
        {"mla s2048", "plain s2048", 32, 32, 128, same(1, 2048), Mask::open, Adds::rope},
        {"d64 s2048", "plain s2048", 32, 32, 64, same(1, 2048)},
        {"short s128 h1", "plain s2048", 1, 1, 128, same(1, 128)},
        {"short s128 b1", "plain s2048", 32, 32, 128, same(1, 128)},
        {"short s128 b8", "plain s2048", 32, 32, 128, same(8, 128)},
        {"short s256 b1", "plain s2048", 32, 32, 128, same(1, 256)},
        {"short s256 b8", "plain s2048", 32, 32, 128, same(8, 256)},
        {"short s512 b1", "plain s2048", 32, 32, 128, same(1, 512)},
        {"short s512 b8", "plain s2048", 32, 32, 128, same(8, 512)},
        {"chunk q64 kv8192 32:8", "plain s2048", 32, 8, 128, {{64, 8192}}, Mask::causal},
        {"chunk q512 kv8192 32:8", "plain s2048", 32, 8, 128, {{512, 8192}}, Mask::causal},
        {"chunk q256 kv32768 32:8", "plain s2048", 32, 8, 128, {{256, 32768}}, Mask::causal},
        {"mixed 32:8", "plain s2048", 32, 8, 128,
         {{512, 512}, {1, 8192}, {64, 4096}, {1, 2048}, {8, 6000}, {256, 1024}}, Mask::causal},
        {"unequal causal", "plain s2048", 32, 8, 128, {{2048, 2048}, {300, 300}, {77, 77}, {1000, 1000}}, Mask::causal},
        {"fp16 s1024", "", 32, 32, 128, same(1, 1024), Mask::open, Adds::nothing, Dtype::f16},
    };
    const auto add_stored = [&](const char* name, const char* own, std::vector<Lengths> lengths, Dtype dtype,
                                Case::Scales keys, Case::Scales values, Dtype query = Dtype::bf16) {
        const bool is_chunk = lengths[0].q < lengths[0].kv;
        all.push_back({name, own, 32, is_chunk ? 8 : 32, 128, lengths, is_chunk ? Mask::causal : Mask::open,
                       Adds::nothing, query, dtype, keys, values});
    };
    const char* chunk = "chunk q512 kv8192 32:8";
    all.push_back({"s1024", "", 32, 32, 128, same(1, 1024)});
    add_stored("i8 tensor s1024", "s1024", same(1, 1024), Dtype::i8, Case::tensor, Case::tensor);
    add_stored("i8 channel s1024", "s1024", same(1, 1024), Dtype::i8, Case::channel, Case::channel);
    add_stored("i8 token s1024", "s1024", same(1, 1024), Dtype::i8, Case::token, Case::token);
    add_stored("i8 tensor chunk", chunk, {{512, 8192}}, Dtype::i8, Case::tensor, Case::tensor);
    add_stored("i8 channel chunk", chunk, {{512, 8192}}, Dtype::i8, Case::channel, Case::channel);
    add_stored("i8 token chunk", chunk, {{512, 8192}}, Dtype::i8, Case::token, Case::token);
    add_stored("e4m3 tensor chunk", chunk, {{512, 8192}}, Dtype::f8_e4m3, Case::tensor, Case::tensor);
    add_stored("e4m3 token chunk", chunk, {{512, 8192}}, Dtype::f8_e4m3, Case::token, Case::token);
    add_stored("fp4 group chunk", chunk, {{512, 8192}}, Dtype::f4_e2m1, Case::group, Case::group);
    add_stored("i8 channel q64", "chunk q64 kv8192 32:8", {{64, 8192}}, Dtype::i8, Case::channel, Case::token);
    add_stored("i8 token q64", "chunk q64 kv8192 32:8", {{64, 8192}}, Dtype::i8, Case::token, Case::token);
    add_stored("i8 token fp16 s1024", "fp16 s1024", same(1, 1024), Dtype::i8, Case::token, Case::token, Dtype::f16);
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    if (!engine_bench::configure(argc, argv)) return 1;
    const std::string filter = argc > 3 ? argv[3] : "";
    const double budget = argc > 4 ? std::atof(argv[4]) : 6;
    std::printf("%s, %d threads\n", target_name(target_in_use()), thread_count());
    std::vector<std::unique_ptr<Bench>> benches;
    const std::vector<Case> all = cases();
    const bool is_alone = filter[0] == '=';
    const auto is_chosen = [&](const Case& c) {
        return is_alone ? c.name == filter.substr(1) : std::strstr(c.name, filter.c_str()) != nullptr;
    };
    for (const Case& c : all) {
        const bool is_needed = std::any_of(all.begin(), all.end(), [&](const Case& other) {
            return !is_alone && is_chosen(other) && std::strcmp(other.own, c.name) == 0;
        });
        if (is_chosen(c) || is_needed) benches.push_back(std::make_unique<Bench>(c));
    }
    const double start = now();
    for (int round = 0; round < 3 || now() - start < budget; round++) {
        for (const auto& bench : benches) bench->run();
    }
    for (const auto& bench : benches) {
        std::printf("%-26s %9.1f us %7.1f GFLOP/s", bench->of().name, bench->seconds() * 1e6, bench->rate() * 1e-9);
        for (const auto& other : benches) {
            if (std::strcmp(other->of().name, bench->of().own) != 0) continue;
            std::printf("  %.2f of %s", bench->rate() / other->rate(), other->of().name);
        }
        std::printf("\n");
    }
    return 0;
}
