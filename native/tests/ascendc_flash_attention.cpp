// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The AscendC kernels in the simulator with its checks on, for both architectures, against the double computation and
// the host engine, over the engine's own cases. A case without an instantiation is listed, not forgotten: which these
// are is checked, too.
#include <cstring>
#include <set>

#include "ascendc/launch/sim_settings.h"
#include "ascendc_closeness.h"
#include "engine_features_problem.h"
#include "engine_reference.h"

namespace engine_test {
namespace {

// Stored keys become 16-bit numbers first, which moves every score.
double lse_limit_of(const Features& f) {
    if (f.kv_dtype == f.dtype) return kKernelLseLimit;
    return f.dtype == Dtype::f16 ? 2.5e-4 : 2e-3;
}

// Codes of 8 bits: a number close to the border between two of them may fall to either side.
constexpr double kCodeRmsLimit = 0.02;

double out_limit_of(const Features& f) { return f.out_dtype == f.dtype ? rms_limit_of(f.dtype) : kCodeRmsLimit; }

// As the output's type has it.
double rounded(const Features& f, double x) {
    if (f.out_dtype == f.dtype) return x;
    uint8_t code[1];
    write_element(f.out_dtype, code, 0, static_cast<float>(x));
    return read_element(f.out_dtype, code, 0);
}

void check_exact(const Features& f, const Call& call, const std::string& name) {
    const Problem& p = call.p;
    Closeness close;
    for (const Sequence& s : p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < p.heads; h++) {
                const ExactRow row = exact_row(p, call.o, s, i, h);
                const int64_t at = s.out_offset + i * p.out.token_stride + h * p.out.head_stride;
                for (int64_t d = 0; d < p.dim_v; d++) {
                    close.add(read_element(f.out_dtype, call.o.out, at + d),
                              rounded(f, row.out[static_cast<size_t>(d)]));
                }
                close.add_lse(call.lse[static_cast<size_t>(s.lse_offset + i * p.lse.token_stride + h)], row.lse);
            }
        }
    }
    close.expect_below(out_limit_of(f), lse_limit_of(f), name);
}

// The same call by the host engine: closer to it than to anything else that the double computation would allow.
void check_engine(const Features& f, const Call& got, Storage storage, const std::string& name) {
    Call host(f, storage);
    const auto plan = Attention::plan(host.p);
    std::vector<unsigned char> memory(plan->workspace_bytes());
    expect(!plan->run(host.o, memory.data()).found, name + ": no fault on the host");
    Closeness close;
    const int64_t count = static_cast<int64_t>(host.out.bytes.size()) * 8 / bits_of(f.out_dtype);
    for (int64_t i = 0; i < count; i++) {
        close.add(read_element(f.out_dtype, got.o.out, i), read_element(f.out_dtype, host.o.out, i));
    }
    for (size_t i = 0; i < host.lse.size(); i++) close.add_lse(got.lse[i], host.lse[i]);
    close.expect_below(1.5 * out_limit_of(f), lse_limit_of(f), name + " against the host");
}

// Where keys and values lie changes no bit.
void check_case(const Chip& chip, const Features& f, std::set<std::string>& unserved) {
    std::vector<Storage> storages = {Storage::paged_tokens, Storage::paged_heads};
    if (f.scales != Scales::token_paged && f.scales != Scales::token_head_paged) {
        storages.push_back(Storage::contiguous);
    }
    if (f.dim % 16 == 0 && f.dim_v % 16 == 0) storages.push_back(Storage::paged_chunks);
    std::vector<uint8_t> first;
    std::vector<float> first_lse;
    for (const Storage storage : storages) {
        Call call(f, storage);
        const std::string name =
            std::string(f.name) + name_of(chip) + " storage " + std::to_string(static_cast<int>(storage));
        const std::string lacking = acl_attn::ascendc::unsupported(call.p, chip);
        if (!lacking.empty()) {
            unserved.insert(lacking);
            continue;
        }
        if (!run_on(chip, call.p, call.o, call.ranges(), name)) continue;
        if (first.empty()) {
            check_exact(f, call, name);
            check_engine(f, call, storage, name);
            first = call.out.bytes;
            first_lse = call.lse;
        } else {
            expect(call.out.bytes == first && call.lse == first_lse, name + ": other bits");
        }
    }
}

std::vector<Spec> specs() {
    std::vector<Spec> all;
    const auto add = [&](auto change) {
        Spec spec;
        spec.dtype = Dtype::bf16;
        change(spec);
        all.push_back(spec);
    };
    add([](Spec& s) { s.dim = s.dim_v = 128, s.sequences = {{130, 300, {kOpenFirst, 170}}}; });      // causal prefill
    add([](Spec& s) { s.heads = 5, s.sequences = {{40, 40, {-7, 3}}}, s.heads_outside = true; });
    add([](Spec& s) { s.heads = 2, s.kv_heads = 2, s.sequences = {{40, 20, {5, 9}}, {30, 200, {-2, 160}}}; });
    add([](Spec& s) { s.has_mask = true, s.heads = 4, s.sequences = {{50, 30, {3, 6}}, {9, 5, {-30, -3}}}; });
    add([](Spec& s) { s.heads = 8, s.dim = s.dim_v = 64, s.sequences = {{1, 2500}, {1, 1024}}; });   // split keys
    add([](Spec& s) { s.heads = 16, s.kv_heads = 2, s.sequences = {{3, 1300}, {0, 5}, {2, 0}}; });
    add([](Spec& s) { s.dim = s.dim_v = 256, s.heads = 2, s.sequences = {{70, 140, {kOpenFirst, 70}}}; });
    add([](Spec& s) { s.dim = 192, s.dim_v = 128, s.heads = 2, s.sequences = {{20, 129}}; });
    add([](Spec& s) { s.pad_before = 2, s.pad_after = 3, s.heads = 3, s.sequences = {{4, 30}, {1, 7}}; });
    add([](Spec& s) { s.has_mask = true, s.heads = 4, s.kv_heads = 2, s.sequences = {{66, 200}}; });
    return all;
}

void check_spec(const Chip& chip, Spec spec) {
    for (const Storage storage : {Storage::contiguous, Storage::paged_tokens}) {
        spec.storage = storage;
        const std::vector<Logical> data = make_logical(spec, 3);
        Laid laid(spec, data);
        const std::string name = spec.name() + name_of(chip);
        if (!run_on(chip, laid.problem, laid.operands, laid.ranges(), name)) continue;
        const Error e = compare(spec, laid.collect(spec), reference(spec, data));
        char text[120];
        std::snprintf(text, sizeof text, ": rms %.6f, lse %.2e, shape %s", e.rms, e.lse, e.shape ? "ok" : "wrong");
        expect(e.shape && e.rms <= rms_limit_of(spec.dtype) && e.lse <= kKernelLseLimit, name + text);
    }
}

Result result_on(const Chip& chip, const Spec& spec, const std::vector<Logical>& data, uint64_t seed) {
    Laid laid(spec, data);
    acl_attn::ascendc::set_sim_settings({true, seed});
    run_on(chip, laid.problem, laid.operands, laid.ranges(), spec.name() + name_of(chip));
    acl_attn::ascendc::set_sim_settings({true, 0});
    return laid.collect(spec);
}

// Neither the number of cores nor the order in which pipes happen to run changes a bit.
void check_order(int32_t architecture, const Spec& spec) {
    const std::vector<Logical> data = make_logical(spec, 3);
    const Result want = result_on({architecture, kCores}, spec, data, 0);
    expect(result_on({architecture, 1}, spec, data, 0) == want, spec.name() + ": other bits on one core");
    for (const uint64_t seed : {1, 2}) {
        expect(result_on({architecture, 2 * kCores}, spec, data, seed) == want,
               spec.name() + ": other bits in order " + std::to_string(seed));
    }
}

// Operands said to end a byte before they do: the kernel's access to that byte must be found.
void check_watching(const Chip& chip) {
    Spec spec;
    spec.heads = 2;
    spec.dim = spec.dim_v = 64;
    spec.sequences = {{20, 129}};
    spec.has_mask = true;
    const std::vector<Logical> data = make_logical(spec, 3);
    Laid laid(spec, data);
    for (size_t i = 0; i < laid.ranges().size(); i++) {
        MemoryRanges ranges = laid.ranges();
        if (ranges[i].bytes == 0) continue;  // a block table, which this call has not
        ranges[i].bytes -= 1;
        const std::string expected = std::string(ranges[i].is_written ? "write to " : "read of ") + ranges[i].name +
                                     ": expected bytes within its " + std::to_string(ranges[i].bytes);
        const Fault fault = fault_on(chip, laid.problem, laid.operands, ranges);
        expect(fault.failed && fault.failure.find(expected) != std::string::npos,
               "a byte beyond " + std::string(ranges[i].name) + name_of(chip) + ": " + fault.failure);
    }
}

}  // namespace
}  // namespace engine_test

int main() {
    using namespace engine_test;
    acl_attn::ascendc::set_sim_settings({true, 0});
    for (const int32_t architecture : {2201, 3510}) {
        const Chip chip = {architecture, kCores};
        check_watching(chip);
        for (const Spec& spec : specs()) check_order(architecture, spec);
        for (const Spec& spec : specs()) check_spec(chip, spec);
        std::set<std::string> unserved;
        for (const Features& f : cases()) check_case(chip, f, unserved);
        for (const std::string& feature : unserved) {
            std::printf("dav-%d: no kernel instantiation serves %s\n", architecture, feature.c_str());
        }
    }
    return finish("ascendc_flash_attention");
}
