// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels for quantised queries in the simulator with its checks on, for both architectures: against the double
// computation with the kernels' own tiles, closely, and against the host engine, whose tiles are larger in two of the
// schemes, so that weights are rounded relative to another number there. A case without an instantiation has to be
// refused.
#include "ascendc/flash_attention/tiles.h"
#include "ascendc/launch/sim_settings.h"
#include "ascendc_closeness.h"
#include "engine_full_quant_problem.h"
#include "engine_full_quant_reference.h"

namespace engine_test {
namespace {

using acl_attn::ascendc::kKeysOfStep;
using acl_attn::ascendc::set_sim_settings;

std::string label(const FullQuantCase& c, const Chip& chip, Storage storage) {
    return c.name + name_of(chip) + " storage " + std::to_string(static_cast<int>(storage));
}

// Rounding to the output's type, and a few weights on the other side of a tie.
double rms_limit(const FullQuantCase& c) { return c.out_dtype == Dtype::f16 ? 0.00030 : 0.0020; }
// Against the host engine, whose output is rounded alike. Weights of the same tiles differ by ties only; of others, by
// what rounding them costs, or clipping those that are too large.
double host_limit(const FullQuantCase& c) {
    if (c.is_mla()) return 0.0003;
    if (c.is_gqa()) return 0.01;
    return std::fabs(c.weight_scale) > 127 ? 0.03 : 0.013;
}
constexpr double kLseLimit = 1e-6;

template <class Visit>
void visit_rows(const FullQuantCall& call, Visit visit) {
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < call.p.heads; h++) {
                visit(s, i, h, s.out_offset + i * call.p.out.token_stride + h * call.p.out.head_stride,
                      static_cast<size_t>(s.lse_offset + i * call.p.lse.token_stride + h));
            }
        }
    }
}

void check_exact(const FullQuantCase& c, const FullQuantCall& call, const std::string& name) {
    Closeness close;
    visit_rows(call, [&](const Sequence& s, int64_t i, int64_t h, int64_t at, size_t lse) {
        const ExactRow row = FullQuantRow(call.p, call.o, s, i, h, {kKeysOfStep}).compute();
        for (int64_t d = 0; d < c.dim_v; d++) {
            close.add(read_element(c.out_dtype, call.o.out, at + d), row.out[static_cast<size_t>(d)]);
        }
        close.add_lse(call.lse[lse], row.lse);
    });
    close.expect_below(rms_limit(c), kLseLimit, name);
}

void check_engine(const FullQuantCase& c, const FullQuantCall& got, Storage storage, const std::string& name) {
    FullQuantCall host(c, storage);
    const auto plan = Attention::plan(host.p);
    std::vector<unsigned char> memory(plan->workspace_bytes());
    expect(!plan->run(host.o, memory.data()).found, name + ": no fault on the host");
    Closeness close;
    visit_rows(got, [&](const Sequence&, int64_t, int64_t, int64_t at, size_t lse) {
        for (int64_t d = 0; d < c.dim_v; d++) {
            close.add(read_element(c.out_dtype, got.o.out, at + d), read_element(c.out_dtype, host.o.out, at + d));
        }
        close.add_lse(got.lse[lse], host.lse[lse]);
    });
    close.expect_below(host_limit(c), kLseLimit, name + " against the host");
}

// The storages that a scheme may have.
std::vector<Storage> storages(const FullQuantCase& c) {
    if (c.kind == Kind::per_tensor_i8) return {Storage::contiguous, Storage::paged_heads};
    if (c.is_gqa()) return {Storage::paged_heads};
    return {Storage::paged_chunks, Storage::paged_heads, Storage::contiguous};
}

bool is_served(const FullQuantCase& c, const Chip& chip) {
    if (c.is_mx()) return false;
    return c.dtype == Dtype::i8 || chip.architecture == 3510;
}

// Of all that the call may write.
std::vector<uint8_t> bits(const FullQuantCall& call) {
    std::vector<uint8_t> all(call.out.data(), call.out.data() + call.out.size());
    const uint8_t* lse = reinterpret_cast<const uint8_t*>(call.lse.data());
    all.insert(all.end(), lse, lse + call.lse.size() * sizeof(float));
    return all;
}

// Where keys and values lie changes no bit.
void check_case(const FullQuantCase& c, const Chip& chip) {
    std::vector<uint8_t> first;
    for (const Storage storage : storages(c)) {
        FullQuantCall call(c, storage);
        const std::string name = label(c, chip, storage);
        const std::string lacking = acl_attn::ascendc::unsupported(call.p, chip);
        expect(lacking.empty() == is_served(c, chip), name + ": served or not: " + lacking);
        if (!lacking.empty() || !run_on(chip, call.p, call.o, {}, name)) continue;
        if (first.empty()) {
            check_exact(c, call, name);
            check_engine(c, call, storage, name);
            first = bits(call);
        } else {
            expect(bits(call) == first, name + ": other bits");
        }
    }
}

// Neither the number of cores nor the order in which pipes happen to run changes a bit; nor what lies behind the keys.
void check_order(const FullQuantCase& c, int32_t architecture) {
    if (!is_served(c, {architecture, kCores})) return;
    const Storage storage = storages(c).front();
    const auto result = [&](int32_t cores, uint64_t seed, uint8_t poison) {
        FullQuantCall call(c, storage, poison);
        set_sim_settings({true, seed});
        run_on({architecture, cores}, call.p, call.o, {}, c.name);
        set_sim_settings({true, 0});
        return bits(call);
    };
    const auto want = result(kCores, 0, 0xff);
    const std::string name = c.name + name_of({architecture, kCores});
    expect(result(1, 0, 0x55) == want, name + ": other bits on one core");
    for (const uint64_t seed : {1, 2}) {
        expect(result(2 * kCores, seed, 0xff) == want, name + ": other bits in order " + std::to_string(seed));
    }
}

constexpr Band causal(int64_t q_len, int64_t kv_len) { return {kOpenFirst, kv_len - q_len}; }

std::vector<FullQuantCase> cases() {
    std::vector<FullQuantCase> all;
    const auto add = [&](const char* name, FullQuantCase& c) {
        c.name = name;
        all.push_back(c);
    };
    const Sequences window = {{9, 700, {3, 300}}, {40, 260, causal(40, 260)}, {6, 4, causal(6, 4)}, {2, 0}, {0, 5}};
    const Sequences corners = {{1, 70}, {2, 129}, {70, 257}, {3, 0}, {1, 1}};
    FullQuantCase c;
    c.kind = Kind::per_tensor_i8;
    c.weight_scale = 127;
    c.sequences = corners;
    add("per tensor", c);
    c.out_dtype = Dtype::f16, c.words = true;
    c.dim = c.dim_v = 37;
    c.sequences = window;
    add("per tensor fp16, words, windows, odd dim", c);
    c.dim = 40, c.dim_v = 72, c.heads_outside = true;
    c.has_mask = c.has_bias = true;
    c.sequences = {{2, 5}, {5, 300}};
    add("per tensor, mask and bias", c);
    c.has_bias = false;
    c.weight_scale = -150;
    add("per tensor, negative quant_scale1, saturating", c);
    c = {};
    c.kind = Kind::per_tensor_i8;
    c.weight_scale = 100;
    c.heads = c.kv_heads = 2;
    c.dim = c.dim_v = 320;
    c.sequences = {{70, 200, causal(70, 200)}, {3, 1300}};
    add("per tensor, wide", c);

    c = {};
    c.kind = Kind::mla;
    c.kv_heads = 1, c.heads = 8;
    c.dim = c.dim_v = 512, c.rope_dim = 64;
    c.block_size = 128;
    c.sequences = {{1, 70}, {2, 300}, {4, 260, causal(4, 260)}, {1, 0}, {3, 2, causal(3, 2)}, {1, 1300}};
    add("mla int8", c);
    c.dtype = Dtype::f8_e4m3, c.heads_outside = true;
    add("mla fp8", c);
    c.dtype = Dtype::hif8;
    add("mla hif8", c);
    c.dtype = Dtype::i8;
    c.heads = 128;
    c.sequences = {{2, 140, causal(2, 140)}};
    add("mla int8, 128 heads", c);
    c.heads = 5, c.dim = c.dim_v = 64, c.rope_dim = 16;
    c.has_mask = true;
    c.sequences = window;
    add("mla int8, mask, windows, other dims", c);

    c = {};
    c.kind = Kind::gqa_f8;
    c.dtype = Dtype::f8_e4m3;
    c.dim = c.dim_v = 128;
    c.block_size = 128;
    c.heads_outside = true;
    c.sequences = corners;
    add("gqa fp8", c);
    c.out_dtype = Dtype::f16, c.weight_scale = 448;
    c.block_size = 40;
    c.sequences = window;
    add("gqa fp8 fp16, p scale 448, windows, short pages", c);
    c.out_dtype = Dtype::bf16, c.weight_scale = 16, c.has_mask = true;
    c.sequences = {{1, 1500}, {30, 200}};
    add("gqa fp8, mask, p scale 16", c);

    c = {};
    c.kind = Kind::mx_f8;
    c.dtype = Dtype::f8_e4m3;
    c.dim = c.dim_v = 128;
    c.sequences = {{1, 70}};
    add("mxfp8", c);
    return all;
}

}  // namespace
}  // namespace engine_test

int main() {
    using namespace engine_test;
    set_sim_settings({true, 0});
    for (const int32_t architecture : {2201, 3510}) {
        for (const FullQuantCase& c : cases()) {
            check_case(c, {architecture, kCores});
            check_order(c, architecture);
        }
    }
    return finish("ascendc_full_quant");
}
