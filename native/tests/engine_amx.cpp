// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels for AMX with its registers emulated, on any processor: packing, parts, and the order of the steps. What
// the real registers add, the other engine tests see where they are usable.
#include "engine/amx_row_panels-inl.h"
#include "engine/amx_rows-inl.h"
#include "engine/amx_stream-inl.h"
#include "engine/float4_stream-inl.h"
#include "engine/kernels-inl.h"
#include "engine/schedule.h"
#include "engine/targets.h"
#include "engine/workspace.h"
#include "engine_reference.h"

#if defined(__AMX_TILE__)
#error "expected a build for the baseline, where the registers are emulated"
#endif

using namespace engine_test;

namespace {

constexpr Kernels kEmulated =
    make_kernels<AmxOperand<2>, AmxOperand<1>, AmxOperand<1>, AmxFewOperand, AmxCodeOperand<F16>, AmxCodeOperand<BF16>>(
        "amx emulated", &kFullQuantPortable);

// One head, contiguous: the block that a plan would make of it, for one of the kernels.
Result run_emulated(const Spec& spec, const std::vector<Logical>& data, RowKernel* const* kernels) {
    const SequenceSpec& s = spec.sequences[0];
    Problem problem;
    problem.dtype = problem.kv_dtype = problem.out_dtype = spec.dtype;
    problem.heads = problem.kv_heads = 1;
    problem.dim = problem.key.chunk = spec.dim;
    problem.dim_v = problem.value.chunk = spec.dim_v;
    Schedule schedule;
    schedule.block_rows = static_cast<int32_t>(s.q_len);
    Arena counter;
    divide_scratch(counter, problem, schedule, kEmulated);
    std::vector<char> memory(counter.used() + Arena::kAlignment, '\xff');
    Arena arena = Arena::aligned(memory.data());
    const Scratch scratch = divide_scratch(arena, problem, schedule, kEmulated);
    std::fill_n(scratch.zeros, kMaxDim, 0.0f);

    Result result;
    result.out.resize(static_cast<size_t>(s.q_len * spec.dim_v));
    result.lse.resize(static_cast<size_t>(s.q_len));
    RowBlock b = {};
    b.query = data[0].q.data();
    b.query_token_stride = spec.dim;
    const auto view = [&](const std::vector<uint16_t>& rows, int32_t dim) {
        KvView v = {};
        v.base = reinterpret_cast<const char*>(rows.data());
        v.token_stride = 2 * dim;
        v.chunk = v.dim = dim;
        v.dtype = spec.dtype;
        return v;
    };
    b.key = view(data[0].k, spec.dim);
    b.value = view(data[0].v, spec.dim_v);
    b.band_first = s.band.first;
    b.band_last = s.band.last;
    b.row_end = s.q_len;
    b.key_end = s.kv_len;
    b.kv_heads = b.group = 1;
    b.dim = spec.dim;
    b.dim_v = spec.dim_v;
    b.scale = spec.used_scale();
    b.sink.out = reinterpret_cast<char*>(result.out.data());
    b.sink.out_token_stride = 2 * spec.dim_v;
    b.sink.out_dtype = b.sink.query_dtype = spec.dtype;
    b.sink.empty_lse = INFINITY;
    b.sink.lse = result.lse.data();
    b.sink.lse_token_stride = 1;
    kernels[static_cast<int>(spec.dtype)](b, scratch);
    return result;
}

void shapes() {
    const int32_t dims[][2] = {{64, 64}, {80, 48}, {33, 100}, {1, 16}, {128, 130}};
    const Band bands[] = {{}, {kOpenFirst, 0}, {-40, 7}};
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const auto& pair : dims) {
            for (const Band& band : bands) {
                for (const int64_t q_len : {16, 17, 40, 64}) {
                    Spec spec;
                    spec.dtype = dtype;
                    spec.dim = pair[0];
                    spec.dim_v = pair[1];
                    spec.sequences = Sequences{{q_len, 300, band}};
                    const std::vector<Logical> data = make_logical(spec, 31);
                    for (const auto& kernels : {kEmulated.prefill, kEmulated.prefill_few}) {
                        if (kernels[static_cast<int>(dtype)] == nullptr) continue;
                        check_against_reference(spec, data, run_emulated(spec, data, kernels), 1.3);
                    }
                }
            }
        }
    }
}

// An fp16 is the sum of its parts, so that small integers come out exactly; infinite keys stay what they are.
void parts() {
    Spec spec;
    spec.dtype = Dtype::f16;
    spec.dim = spec.dim_v = 32;
    spec.scale = 1.0f;
    spec.sequences = Sequences{{3, 2}};
    std::vector<Logical> data = make_logical(spec, 32);
    std::fill(data[0].q.begin(), data[0].q.end(), encode(Dtype::f16, 0.0f));
    std::fill(data[0].k.begin(), data[0].k.end(), encode(Dtype::f16, 0.0f));
    data[0].q[0] = encode(Dtype::f16, 2047.0f);  // eleven significant bits
    data[0].k[0] = encode(Dtype::f16, 1.0f + 0x1p-10f);
    const float lse = run_emulated(spec, data, kEmulated.prefill).lse[0];
    expect(std::fabs(lse - 2047.0f * (1.0f + 0x1p-10f)) < 1e-3f, "products are exact");
    data[0].q[0] = encode(Dtype::f16, -2.0f);
    data[0].k[0] = encode(Dtype::f16, INFINITY);
    const Result got = run_emulated(spec, data, kEmulated.prefill);
    expect(got.lse[0] == 0.0f, "a key at minus infinity has no weight");
    for (int c = 0; c < spec.dim_v; c++) {
        expect(got.out[static_cast<size_t>(c)] == data[0].v[static_cast<size_t>(spec.dim_v + c)], "the other has all");
    }
}

// Rows against stored codes: few, of two heads, or many, of one; some keys, with scales of channels or of tokens.
struct CodesCase {
    Dtype dtype;
    int32_t dim, group;
    int64_t keys;
    bool by_token;
    Dtype query = Dtype::f16;
    bool is_prefill = false;
};

struct CodesResult {
    std::vector<float> out, lse;
};

CodesResult run_codes(const Kernels& kernels, const CodesCase& c) {
    const int32_t heads = c.is_prefill ? 1 : 2;
    Random random(7);
    std::vector<uint16_t> query(static_cast<size_t>(heads * c.group * c.dim));
    for (uint16_t& x : query) x = encode(c.query, static_cast<float>(random.normal()));
    const int64_t row_bytes = bytes_of(c.dtype, c.dim);
    const auto codes = [&] {
        std::vector<uint8_t> x(static_cast<size_t>(c.keys * heads * row_bytes));
        for (uint8_t& code : x) code = static_cast<uint8_t>(random.below(256) & (c.dtype == Dtype::i8 ? 0xff : 0xbb));
        return x;
    };
    const std::vector<uint8_t> keys = codes(), values = codes();
    std::vector<float> scales(static_cast<size_t>(heads * std::max<int64_t>(c.keys, c.dim)));
    for (float& x : scales) x = 0.01f + 0.001f * static_cast<float>(random.below(10));

    Problem problem;
    problem.dtype = problem.out_dtype = c.query;
    problem.kv_dtype = c.dtype;
    problem.heads = heads * c.group;
    problem.kv_heads = heads;
    problem.dim = problem.dim_v = problem.key.chunk = problem.value.chunk = c.dim;
    for (Dequant* dequant : {&problem.key_dequant, &problem.value_dequant}) {
        dequant->has_scale = true;
        dequant->layout.group = c.by_token ? c.dim : 1;
    }
    Schedule schedule;
    (c.is_prefill ? schedule.block_rows : schedule.decode_rows) = problem.heads;
    Arena counter;
    divide_scratch(counter, problem, schedule, kernels);
    std::vector<char> memory(counter.used() + Arena::kAlignment, '\xff');
    Arena arena = Arena::aligned(memory.data());
    const Scratch scratch = divide_scratch(arena, problem, schedule, kernels);
    std::fill_n(scratch.zeros, kMaxDim, 0.0f);

    std::vector<uint16_t> out(query.size());
    CodesResult result;
    result.lse.resize(static_cast<size_t>(problem.heads));
    RowBlock b = {};
    b.query = query.data();
    b.query_head_stride = c.dim;
    const auto view = [&](const std::vector<uint8_t>& rows) {
        KvView v = {};
        v.base = reinterpret_cast<const char*>(rows.data());
        v.token_stride = heads * row_bytes;
        v.head_stride = row_bytes;
        v.chunk = v.dim = c.dim;
        v.dtype = c.dtype;
        return v;
    };
    b.key = view(keys);
    b.value = view(values);
    ScaleView scale = {};
    scale.base = reinterpret_cast<const char*>(scales.data());
    scale.dtype = Dtype::f32;
    scale.group = c.by_token ? c.dim : 1;
    scale.group_stride = sizeof(float);
    scale.token_stride = c.by_token ? heads * sizeof(float) : 0;
    scale.head_stride = c.by_token ? sizeof(float) : c.dim * sizeof(float);
    b.key_addition.scale = b.value_addition.scale = scale;
    b.key_staged = b.value_staged = true;
    b.band_first = kOpenFirst;
    b.band_last = kOpenLast;
    b.row_end = b.group = c.group;
    b.key_begin = 3;
    b.key_end = c.keys;
    b.kv_heads = heads;
    b.dim = b.dim_v = c.dim;
    b.scale = 0.1f;
    b.sink.out = reinterpret_cast<char*>(out.data());
    b.sink.out_head_stride = 2 * c.dim;
    b.sink.out_dtype = b.sink.query_dtype = c.query;
    b.sink.empty_lse = INFINITY;
    b.sink.lse = result.lse.data();
    b.sink.lse_head_stride = 1;
    b.query_parts = code_query_parts(problem);
    RowKernel* many = prefills_codes(problem, kernels) ? kernels.prefill_codes[static_cast<int>(c.query)]
                                                       : kernels.prefill[static_cast<int>(Dtype::f32)];
    (c.is_prefill ? many : kernels.decode_codes[static_cast<int>(c.dtype)])(b, scratch);
    for (const uint16_t x : out) result.out.push_back(decode(c.query, x));
    return result;
}

// Against the products of vectors, which engine_features compares with the exact numbers.
void codes() {
    for (const Dtype dtype : {Dtype::i8, Dtype::i4}) {
        for (const CodesCase& shape : {CodesCase{dtype, 128, 4, 100, false}, CodesCase{dtype, 72, 6, 203, true},
                                       CodesCase{dtype, 16, 1, 20, false},
                                       CodesCase{dtype, 72, 40, 300, false, Dtype::f16, true},
                                       CodesCase{dtype, 40, 17, 100, true, Dtype::f16, true},
                                       CodesCase{dtype, 40, 50, 300, false, Dtype::bf16, true},
                                       CodesCase{dtype, 64, 33, 280, true, Dtype::bf16, true}}) {
            const float precision = shape.query == Dtype::f16 ? 0x1p-10f : 0x1p-7f;
            const CodesResult got = run_codes(kEmulated, shape), want = run_codes(target_kernels(0), shape);
            bool is_close = true;
            for (size_t i = 0; i < got.out.size(); i++) {
                is_close &= std::fabs(got.out[i] - want.out[i]) <= precision * (std::fabs(want.out[i]) + 0.1f);
            }
            for (size_t i = 0; i < got.lse.size(); i++) is_close &= std::fabs(got.lse[i] - want.lse[i]) <= 1e-5f;
            expect(is_close, "codes of type " + std::to_string(static_cast<int>(dtype)) + ", dim " +
                                 std::to_string(shape.dim));
        }
    }
}

}  // namespace

int main() {
    shapes();
    parts();
    codes();
    return finish("engine_amx");
}
