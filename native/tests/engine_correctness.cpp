// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every instruction set against the obvious computation in double.
#include <cstring>

#include "engine_reference.h"

using namespace engine_test;

namespace {

// The data and the obvious computation take longer than the engine: once for all instruction sets.
void check(const Spec& spec, double slack = 1.0) {
    const std::vector<Logical> data = make_logical(spec, 7);
    const Exact want = reference(spec, data);
    for_each_target([&](int) { check_against_reference(spec, want, run(spec, data), slack); });
}

void dims() {
    const int32_t pairs[][2] = {{1, 1},     {3, 3},     {16, 16}, {64, 64}, {80, 80},  {128, 128},
                                {192, 128}, {256, 256}, {1, 80},  {80, 3},  {16, 192}, {128, 64},
                                {64, 128},  {512, 512}, {7, 130}, {65, 17}, {33, 100}, {576, 512}};
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const auto& pair : pairs) {
            for (const int64_t q_len : {1, 21}) {  // decode and prefill
                Spec spec;
                spec.dtype = dtype;
                spec.dim = pair[0];
                spec.dim_v = pair[1];
                spec.heads = 2;
                spec.kv_heads = 1;
                spec.sequences = Sequences{{q_len, 300}};
                check(spec, pair[1] < 16 ? 1.5 : 1.0);  // few outputs scatter more
            }
        }
    }
}

void lengths() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const int64_t kv_len : {0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1025}) {
            Spec spec;
            spec.dtype = dtype;
            spec.dim = 64;
            spec.dim_v = 64;
            spec.heads = 2;
            spec.kv_heads = 2;
            for (const int64_t q_len : {0, 1, 2, 15, 16, 17, 95, 200}) spec.sequences.push_back({q_len, kv_len});
            check(spec);
        }
    }
    Spec splits;  // few rows, long keys: the prefill kernel with split keys
    splits.dim = splits.dim_v = 64;
    splits.sequences = Sequences{{40, 4500}, {1, 4500}};
    check(splits);
}

void groups_and_layouts() {
    const int32_t heads[][2] = {{1, 1}, {4, 4}, {6, 2}, {8, 1}, {32, 1}, {64, 1}};
    for (const auto& h : heads) {
        for (const bool outside : {false, true}) {
            Spec spec;
            spec.heads = h[0];
            spec.kv_heads = h[1];
            spec.dim = 48;
            spec.dim_v = 40;
            spec.heads_outside = outside;
            spec.sequences = Sequences{{5, 70}, {1, 33}, {40, 90}, {0, 5}};
            check(spec);
        }
    }
}

void bands_and_masks() {
    const Band bands[] = {{kOpenFirst, 0}, {kOpenFirst, 37},  {-20, 0}, {-300, -3},
                          {5, 300},        {kOpenFirst, -25}, {40, 20}};
    for (const Band& band : bands) {
        for (const bool has_mask : {false, true}) {
            for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
                Spec spec;
                spec.dtype = dtype;
                spec.heads = 3;
                spec.kv_heads = 1;
                spec.dim = 32;
                spec.dim_v = 32;
                spec.has_mask = has_mask;
                spec.sequences = Sequences{{1, 40, band}, {4, 100, band}, {60, 61, band}, {300, 320, band},
                                           {70, 600, band}};
                check(spec);
            }
        }
    }
}

void hidden_rows() {
    Spec spec;
    spec.has_mask = true;
    spec.sequences = Sequences{{3, 50}, {40, 300}};
    std::vector<Logical> data = make_logical(spec, 3);
    for (size_t n = 0; n < 2; n++) {
        for (int64_t j = 0; j < spec.sequences[n].kv_len; j++) {
            data[n].mask[static_cast<size_t>(1 * spec.sequences[n].kv_len + j)] = 1;
        }
    }
    check_against_reference(spec, data, run(spec, data));
}

void padding() {
    Spec spec;
    spec.heads = 2;
    spec.kv_heads = 1;
    spec.pad_before = 2;
    spec.pad_after = 3;
    spec.sequences = Sequences{{4, 20}, {0, 7}, {30, 0}, {33, 40}};
    const std::vector<Logical> data = make_logical(spec, 5);
    for (const bool outside : {false, true}) {
        spec.heads_outside = outside;
        Laid laid(spec, data);
        expect(!run_in_place(laid).found, "no fault");
        check_against_reference(spec, data, laid.collect(spec));
        for (const Sequence& s : laid.problem.sequences) {
            for (int64_t t = -spec.pad_before; t < s.q_len + spec.pad_after; t++) {
                if (t >= 0 && t < s.q_len) continue;
                for (int64_t h = 0; h < spec.heads; h++) {
                    const RowLayout &o = laid.problem.out, &l = laid.problem.lse;
                    for (int64_t c = 0; c < spec.dim_v; c++) {
                        const int64_t at = s.out_offset + t * o.token_stride + h * o.head_stride + c;
                        expect(laid.out[static_cast<size_t>(at)] == 0, "padding output is 0");
                    }
                    const float lse =
                        laid.lse[static_cast<size_t>(s.lse_offset + t * l.token_stride + h * l.head_stride)];
                    expect(lse == INFINITY, "padding LSE is +inf");
                }
            }
        }
    }
}

void scales() {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const float scale : {1e-30f, -0.25f, 1.0f, 800.0f, 1e30f}) {
            Spec spec;
            spec.dtype = dtype;
            spec.dim = spec.dim_v = 64;
            spec.scale = scale;
            spec.sequences = Sequences{{1, 300}, {50, 300}};
            check(spec);
        }
    }
}

// The promise itself, without allowance for what rounding the output costs: what products lose of probabilities depends
// on how they are distributed.
void check_accuracy(const Spec& spec, const std::vector<Logical>& data, const std::string& scores) {
    const Exact want = reference(spec, data);
    for_each_target([&](int target) {
        const Error e = compare(spec, run(spec, data), want);
        expect(e.shape && e.rms <= rms_limit(spec.dtype) && e.lse <= kLseLimit,
               scores + " [" + target_name(target) + "]: rms " + std::to_string(e.rms));
    });
}

void distributions_of_scores() {
    Spec spec;
    spec.dtype = Dtype::bf16;
    spec.dim = spec.dim_v = 64;
    spec.heads = 2;
    spec.sequences = Sequences{{60, 900}};
    for (const float deviation : {0.0f, 0.02f, 0.1f, 0.3f, 0.5f, 1.0f, 2.0f, 4.0f}) {
        spec.scale = std::max(deviation / 8.0f, 1e-30f);  // 0 would be the default
        check_accuracy(spec, make_logical(spec, 7), "scores with a deviation of " + std::to_string(deviation));
    }
    spec.scale = 0.03f;
    std::vector<Logical> data = make_logical(spec, 7);
    for (int64_t j = 1; j < spec.sequences[0].kv_len; j++) {
        std::copy_n(data[0].k.begin(), j == 5 ? 0 : spec.dim, data[0].k.begin() + j * spec.dim);
    }
    check_accuracy(spec, data, "equal scores but for one");
    spec.heads = 8;
    for (const int64_t begin : {0, 32, 64, 96}) {
        spec.sequences = Sequences{{16, 128, {begin, begin + 15}}};
        check_accuracy(spec, make_logical(spec, 7), "windows from key " + std::to_string(begin));
    }
}

void faults() {
    Spec spec;
    spec.storage = Storage::paged_tokens;
    spec.sequences = Sequences{{2, 40}, {0, 40}, {3, 33}};
    const std::vector<Logical> data = make_logical(spec, 4);
    for (const int32_t bad : {-1, 1 << 30, std::numeric_limits<int32_t>::min()}) {
        Laid laid(spec, data);
        const Sequence& last = laid.problem.sequences[2];
        laid.table[static_cast<size_t>(last.table_offset + 2)] = bad;
        const Laid before(spec, data);
        const Fault fault = run_in_place(laid);
        expect(fault.found && fault.sequence == 2 && fault.column == 2 && fault.value == bad, "the bad entry is named");
        expect(laid.out == before.out, "nothing was computed");
    }
    Laid unused(spec, data);
    unused.table[static_cast<size_t>(unused.problem.sequences[1].table_offset)] = -7;  // of a sequence without rows
    expect(!run_in_place(unused).found, "an entry that nobody reads is no fault");
}

}  // namespace

int main() {
    dims();
    lengths();
    groups_and_layouts();
    bands_and_masks();
    scales();
    distributions_of_scores();
    for_each_target([](int) {
        hidden_rows();
        padding();
        faults();
    });
    return finish("engine_correctness");
}
