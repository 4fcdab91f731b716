// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// FLOAT4_E2M1 keys and values with a power of two for each group of channels: every code under every scale, scales that
// the products do not take beside others, and groups that a head's last channel cuts. What all stored types share is in
// engine_features.cpp.
#include <cstring>

#include "engine_features_problem.h"
#include "engine_reference.h"

using namespace engine_test;

namespace {

Features by_groups(Dtype dtype, int32_t dim, int32_t dim_v, std::vector<SequenceSpec> sequences) {
    Features f;
    f.dtype = f.out_dtype = dtype;
    f.kv_dtype = Dtype::f4_e2m1;
    f.scales = Scales::token_group;
    f.scale_dtype = Dtype::e8m0;
    f.dim = dim;
    f.dim_v = dim_v;
    f.sequences = std::move(sequences);
    return f;
}

void run(const Problem& problem, Call& call) {
    const auto plan = Attention::plan(problem);
    std::vector<char> memory(plan->workspace_bytes(), '\xff');
    expect(!plan->run(call.o, memory.data()).found, "no fault");
}

std::string label(const char* what, const Features& f) {
    return std::string(what) + " [" + target_name(target_in_use()) + "], dims " + std::to_string(f.dim) + " and " +
           std::to_string(f.dim_v);
}

// A row that sees one key is its value, in every bit.
void codes() {
    constexpr int kScales = 256, kCodes = 16;
    for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
        Features f = by_groups(dtype, 32, 64, std::vector<SequenceSpec>(kScales, SequenceSpec{1, 1}));
        f.heads = f.kv_heads = 1;
        Call call(f, Storage::contiguous);
        for (int64_t i = 0; i < kScales * f.dim_v; i++) fmt::set_nibble(call.v.bytes.data(), i, i % kCodes);
        for (size_t i = 0; i < call.vs.bytes.size(); i++) call.vs.bytes[i] = static_cast<uint8_t>(i / 2);  // two groups
        run(call.p, call);
        for (int64_t i = 0; i < kScales * f.dim_v; i++) {
            const uint8_t code = static_cast<uint8_t>(i % kCodes), scale = static_cast<uint8_t>(i / f.dim_v);
            const float want = decode(dtype, encode(dtype, fmt::decode_e2m1(code) * fmt::decode_e8m0(scale)));
            const float got = read_element(dtype, call.out.data(), i);
            expect(got == want || (std::isnan(got) && std::isnan(want)),
                   label("code ", f) + std::to_string(code) + " with scale " + std::to_string(scale) + ": " +
                       std::to_string(got) + " instead of " + std::to_string(want));
        }
    }
}

// The worst difference from the exact rows, in units of the largest number of a row.
double worst_error(const Features& f, const Call& call) {
    double worst = 0;
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < f.heads; h++) {
                const ExactRow want = exact_row(call.p, call.o, s, i, h);
                const int64_t at = s.out_offset + i * call.p.out.token_stride + h * call.p.out.head_stride;
                double top = 0, error = 0;
                for (int64_t d = 0; d < f.dim_v; d++) {
                    const double x = want.out[static_cast<size_t>(d)];
                    top = std::max(top, std::fabs(x));
                    error = std::max(error, std::fabs(read_element(f.dtype, call.out.bytes.data(), at + d) - x));
                }
                if (!(error <= worst * top)) worst = error / top;
            }
        }
    }
    return worst;
}

const std::vector<SequenceSpec> kSequences = {{1, 130}, {3, 77, {-5, 60}}, {2, 600}, {1, 64}};

// Rows of one to four for each KV head, pieces of registers that are not full, cut groups.
void shapes() {
    const int32_t dims[][2] = {{128, 128}, {64, 96}, {32, 160}, {72, 40}, {256, 34}, {576, 512}};
    for (const auto& pair : dims) {
        for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
            Features f = by_groups(dtype, pair[0], pair[1], kSequences);
            f.heads = pair[0] == 128 ? 8 : 4;
            Call call(f, Storage::contiguous);
            run(call.p, call);
            const double limit = dtype == Dtype::f16 ? 0x1p-10 : 0x1p-8;
            expect(worst_error(f, call) <= limit, label("error", f) + ": " + std::to_string(worst_error(f, call)));
            const Buffer together = call.out;
            set_thread_count(3);
            for (const Storage storage : {Storage::paged_tokens, Storage::paged_heads, Storage::paged_chunks}) {
                if (storage == Storage::paged_chunks && (f.dim % 16 != 0 || f.dim_v % 16 != 0)) continue;
                Call paged(f, storage);
                run(paged.p, paged);
                expect(paged.out.bytes == together.bytes && paged.lse == call.lse,
                       label("other bits in pages, on three threads", f));
            }
            set_thread_count(0);
            for (const Sequence& s : call.p.sequences) {
                Problem alone = call.p;
                alone.sequences = {s};
                call.out.bytes.assign(call.out.bytes.size(), 0);
                call.o.out = call.out.data();
                run(alone, call);
                const int64_t begin = bytes_of(dtype, s.out_offset);
                const int64_t size = bytes_of(dtype, s.q_len * call.p.out.token_stride);
                expect(std::memcmp(call.out.bytes.data() + begin, together.bytes.data() + begin,
                                   static_cast<size_t>(size)) == 0, label("other bits alone", f));
            }
        }
    }
}

// Scales near the ends of the format, and NaN: rows of heads that see one are as exact as others, which keep their
// bits.
void far_scales() {
    for (const uint8_t far : {uint8_t{0}, uint8_t{1}, uint8_t{26}, uint8_t{228}, uint8_t{0xff}}) {
        for (const bool is_key : {true, false}) {
            const Features f = by_groups(Dtype::bf16, 64, 64, {{1, 200}, {2, 90}});
            Call call(f, Storage::contiguous);
            run(call.p, call);
            const Buffer clean = call.out;
            const std::vector<float> clean_lse = call.lse;
            const Sequence& s = call.p.sequences[0];
            const ScaleLayout& l = call.p.key_dequant.layout;
            Buffer& scales = is_key ? call.ks : call.vs;
            for (const int64_t token : {70, 199}) {  // the first KV head's second group
                const int64_t origin = is_key ? s.key_scale_offset : s.value_scale_offset;
                scales.bytes[static_cast<size_t>(origin + token * l.token_stride + 1)] = far;
            }
            run(call.p, call);
            const std::string name = label(is_key ? "far key " : "far value ", f) + ", scale " + std::to_string(far);
            const int64_t touched = bytes_of(Dtype::bf16, f.heads / f.kv_heads * f.dim_v);  // of the first token
            expect(std::memcmp(call.out.bytes.data() + touched, clean.bytes.data() + touched,
                               clean.bytes.size() - static_cast<size_t>(touched)) == 0, name + ": another row changed");
            if (far != 0xff) {
                expect(worst_error(f, call) <= 0x1p-8, name + ": error " + std::to_string(worst_error(f, call)));
                continue;
            }
            for (int64_t d = 0; d < f.dim_v; d++) {
                const bool is_nan = std::isnan(read_element(Dtype::bf16, call.out.data(), d));
                expect(is_nan == (is_key || d >= 32), name + ": channel " + std::to_string(d));
            }
            expect(std::isnan(call.lse[0]) == is_key, name + ": LSE");
        }
    }
}

}  // namespace

int main() {
    for_each_target([](int) {
        codes();
        shapes();
        far_scales();
    });
    return finish("engine_float4");
}
