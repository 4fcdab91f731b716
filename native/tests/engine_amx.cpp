// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels for AMX with its registers emulated, on any processor: packing, parts, and the order of the steps. What
// the real registers add, the other engine tests see where they are usable.
#include "engine/amx_rows-inl.h"
#include "engine/kernels-inl.h"
#include "engine/schedule.h"
#include "engine/workspace.h"
#include "engine_reference.h"

#if defined(__AMX_TILE__)
#error "expected a build for the baseline, where the registers are emulated"
#endif

using namespace engine_test;

namespace {

constexpr Kernels kEmulated = make_kernels<AmxOperand<2>, AmxOperand<1>>("amx emulated", &kFullQuantPortable);

// One head, contiguous: the block that a plan would make of it.
Result run_emulated(const Spec& spec, const std::vector<Logical>& data) {
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
    kEmulated.prefill[static_cast<int>(spec.dtype)](b, scratch);
    return result;
}

void shapes() {
    const int32_t dims[][2] = {{64, 64}, {80, 48}, {33, 100}, {1, 16}, {128, 130}};
    const Band bands[] = {{}, {kOpenFirst, 0}, {-40, 7}};
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        for (const auto& pair : dims) {
            for (const Band& band : bands) {
                for (const int64_t q_len : {17, 40}) {
                    Spec spec;
                    spec.dtype = dtype;
                    spec.dim = pair[0];
                    spec.dim_v = pair[1];
                    spec.sequences = Sequences{{q_len, 300, band}};
                    const std::vector<Logical> data = make_logical(spec, 31);
                    check_against_reference(spec, data, run_emulated(spec, data), 1.3);
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
    expect(std::fabs(run_emulated(spec, data).lse[0] - 2047.0f * (1.0f + 0x1p-10f)) < 1e-3f, "products are exact");
    data[0].q[0] = encode(Dtype::f16, -2.0f);
    data[0].k[0] = encode(Dtype::f16, INFINITY);
    const Result got = run_emulated(spec, data);
    expect(got.lse[0] == 0.0f, "a key at minus infinity has no weight");
    for (int c = 0; c < spec.dim_v; c++) {
        expect(got.out[static_cast<size_t>(c)] == data[0].v[static_cast<size_t>(spec.dim_v + c)], "the other has all");
    }
}

}  // namespace

int main() {
    shapes();
    parts();
    return finish("engine_amx");
}
