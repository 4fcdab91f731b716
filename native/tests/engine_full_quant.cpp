// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention with quantised queries against the computation of engine_full_quant_reference.h, on every instruction set,
// in every storage with the same bits, whatever surrounds a sequence.
#include <cstring>

#include "engine_full_quant_problem.h"
#include "engine_full_quant_reference.h"

namespace engine_test {
namespace {

void run(FullQuantCall& call) {
    const auto plan = Attention::plan(call.p);
    std::vector<unsigned char> memory(plan->workspace_bytes() + 4, 0xff);
    expect(!plan->run(call.o, memory.data() + 4).found, "no fault");
}

std::string label(const FullQuantCase& c, Storage storage) {
    return std::string(c.name) + (c.is_long ? ", long [" : " [") + target_name(target_in_use()) + "] storage " +
           std::to_string(static_cast<int>(storage));
}

// The storages that a scheme may have.
std::vector<Storage> storages(const FullQuantCase& c) {
    if (c.is_long && !c.is_gqa()) return {Storage::contiguous};
    if (c.kind == Kind::per_tensor_i8) return {Storage::contiguous};
    if (c.is_gqa()) return {Storage::paged_heads};
    return {Storage::contiguous, Storage::paged_heads, Storage::paged_chunks};
}

// The results of a case, for all the sequences, [token][head].
struct Rows {
    std::vector<ExactRow> rows;
};

Rows exact(const FullQuantCall& call) {
    Rows all;
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < call.p.heads; h++) all.rows.push_back(FullQuantRow(call.p, call.o, s, i, h).compute());
        }
    }
    return all;
}

template <class Visit>
void visit_rows(const FullQuantCall& call, Visit visit) {
    size_t index = 0;
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < call.p.heads; h++) {
                visit(index++, s.out_offset + i * call.p.out.token_stride + h * call.p.out.head_stride,
                      call.lse[static_cast<size_t>(s.lse_offset + i * call.p.lse.token_stride + h)]);
            }
        }
    }
}

// Exact for nearly all numbers, and nowhere more than one step of the output's type off.
void check(const FullQuantCase& c, const FullQuantCall& call, const Rows& want, const std::string& name) {
    size_t count = 0, exact_ones = 0, far = 0;
    double worst = 0, worst_lse = 0;
    bool shape = true;
    visit_rows(call, [&](size_t index, int64_t at, float lse) {
        const ExactRow& row = want.rows[index];
        double square = 0;
        for (const double x : row.out) square += x * x;
        const double typical = std::sqrt(square / static_cast<double>(row.out.size()));
        for (size_t d = 0; d < row.out.size(); d++) {
            const double x = row.out[d];
            const double got = read_element(c.out_dtype, call.o.out, at + static_cast<int64_t>(d));
            count++;
            if (got == round_out(c.out_dtype, x)) {
                exact_ones++;
                continue;
            }
            // Numbers that nearly cancel have the error of those that they are the difference of.
            const double steps = std::fabs(got - x) / out_step(c.out_dtype, std::max(std::fabs(x), typical));
            if (!(steps <= worst)) worst = steps;
            if (!(steps <= 1)) far++;
        }
        if (std::isinf(row.lse) || !std::isfinite(lse)) {
            shape = shape && static_cast<double>(lse) == row.lse;
        } else {
            worst_lse = std::max(worst_lse, std::fabs(lse - row.lse) / std::max(1.0, std::fabs(row.lse)));
        }
    });
    const double share = static_cast<double>(exact_ones) / static_cast<double>(count);
    char text[160];
    std::snprintf(text, sizeof text, ": exact %.3f %%, %zu of %zu beyond one step (worst %.2f), lse %.1e, shape %s",
                  100 * share, far, count, worst, worst_lse, shape ? "ok" : "wrong");
    if (std::getenv("ACL_ATTN_TEST_VERBOSE") != nullptr) std::printf("%s%s\n", name.c_str(), text);
    expect(share >= 0.995 && far == 0 && worst_lse <= 2e-6 && shape, name + text);
}

// Bytes of the output and the LSE in logical order.
std::vector<uint8_t> bits(const FullQuantCase& c, const FullQuantCall& call, int64_t first_row = 0, int64_t rows = -1) {
    std::vector<uint8_t> all;
    visit_rows(call, [&](size_t index, int64_t at, float lse) {
        const int64_t row = static_cast<int64_t>(index) / c.heads - first_row;
        if (row < 0 || (rows >= 0 && row >= rows)) return;
        const uint8_t* from = call.out.data() + 2 * at;
        all.insert(all.end(), from, from + 2 * c.dim_v);
        const uint8_t* of_lse = reinterpret_cast<const uint8_t*>(&lse);
        all.insert(all.end(), of_lse, of_lse + sizeof lse);
    });
    return all;
}

constexpr Band causal(int64_t q_len, int64_t kv_len) { return {kOpenFirst, kv_len - q_len}; }

std::vector<FullQuantCase> make_cases() {
    const Kind per_tensor = Kind::per_tensor_i8;
    std::vector<FullQuantCase> cases;
    const auto add = [&](FullQuantCase c) { cases.push_back(std::move(c)); };
    const Sequences window = {{9, 700, {3, 300}}, {40, 500, causal(40, 500)}, {6, 4, causal(6, 4)}, {2, 0}, {0, 5}};
    FullQuantCase c;
    c.name = "per tensor";
    c.kind = per_tensor;
    c.weight_scale = 127;
    c.sequences = {{3, 70}, {7, 300}, {20, 2100}, {3, 0}};
    add(c);
    c.name = "per tensor fp16, words, windows, odd dim";
    c.out_dtype = Dtype::f16;
    c.dim = c.dim_v = 37;
    c.words = true;
    c.sequences = window;
    add(c);
    c.name = "per tensor, mask and bias";
    c.dim = 40, c.dim_v = 72;
    c.has_mask = c.has_bias = true;
    c.heads_outside = true;
    c.sequences = {{2, 5}, {5, 1300}};
    add(c);
    c.name = "per tensor, negative quant_scale1, saturating";
    c.has_bias = false;
    c.weight_scale = -150;
    add(c);

    c = {};
    c.name = "mla int8";
    c.kind = Kind::mla;
    c.kv_heads = 1, c.heads = 8;
    c.dim = c.dim_v = 512;
    c.rope_dim = 64;
    c.block_size = 128;
    c.sequences = {{1, 70}, {2, 300}, {4, 520, causal(4, 520)}, {1, 0}, {3, 2, causal(3, 2)}};
    add(c);
    c.name = "mla fp8";
    c.dtype = Dtype::f8_e4m3;
    c.heads_outside = true;
    add(c);
    c.name = "mla hif8";
    c.dtype = Dtype::hif8;
    add(c);

    c = {};
    c.name = "gqa fp8";
    c.kind = Kind::gqa_f8;
    c.dtype = Dtype::f8_e4m3;
    c.dim = c.dim_v = 128;
    c.block_size = 128;
    c.heads_outside = true;
    add(c);
    c.name = "gqa fp8 fp16, p scale 448, windows";
    c.out_dtype = Dtype::f16;
    c.weight_scale = 448;
    c.sequences = window;
    add(c);
    c.name = "gqa fp8, mask, p scale 16";
    c.out_dtype = Dtype::bf16;
    c.has_mask = true;
    c.weight_scale = 16;
    add(c);

    c = {};
    c.name = "mxfp8";
    c.kind = Kind::mx_f8;
    c.dtype = Dtype::f8_e4m3;
    c.dim = c.dim_v = 128;
    add(c);
    c.name = "mxfp8 rope, scales by group, p scale 300";
    c.rope_dim = 64;
    c.scales_by_group = true;
    c.weight_scale = 300;
    c.sequences = window;
    add(c);
    c.name = "mxfp8 d64 fp16, mask";
    c.dim = c.dim_v = 64;
    c.rope_dim = 0;
    c.out_dtype = Dtype::f16;
    c.has_mask = true;
    add(c);

    // Errors ahead of a weight's rounding, and so weights on the other side of a tie, grow with the length.
    for (const size_t i : {size_t{0}, size_t{4}, size_t{5}, size_t{7}, size_t{8}, size_t{10}}) {
        FullQuantCase longer = cases[i];
        longer.sequences = {{2, 9000}};
        longer.heads = 4;
        longer.is_long = true;
        add(longer);
    }
    return cases;
}

void test_against_reference() {
    for (const FullQuantCase& c : make_cases()) {
        Rows want;
        std::vector<uint8_t> first;
        for (const Storage storage : storages(c)) {
            if (want.rows.empty()) want = exact(FullQuantCall(c, storage));
            for_each_target([&](int target) {
                FullQuantCall call(c, storage);
                run(call);
                check(c, call, want, label(c, storage));
                if (target > 0) return;
                if (first.empty()) first = bits(c, call);
                expect(bits(c, call) == first, label(c, storage) + ": same bits in every storage");
            });
        }
    }
}

// Rows enough for several blocks, and for several strips of one.
void test_threads_and_neighbours() {
    for (FullQuantCase c : make_cases()) {
        if (c.has_bias || c.has_mask || c.is_long) continue;  // a mask's numbers are the batch's
        if (c.is_mla()) {
            c.sequences = {{2, 300}, {16, 390, causal(16, 390)}, {1, 129}};
        } else {
            c.sequences = {{2, 300}, {230, 1200, causal(230, 1200)}, {70, 64}};
        }
        for (const Storage storage : {storages(c).back()}) {
            for_each_target([&](int) {
                std::vector<uint8_t> first;
                for (const int threads : {1, 2, 3, 7}) {
                    set_thread_count(threads);
                    FullQuantCall call(c, storage, threads == 2 ? 0x55 : 0xff);
                    run(call);
                    if (first.empty()) first = bits(c, call);
                    expect(bits(c, call) == first, label(c, storage) + ": same bits with other threads and padding");
                    if (threads > 1) continue;
                    int64_t row = 0;
                    for (size_t b = 0; b < c.sequences.size(); row += c.sequences[b++].q_len) {
                        FullQuantCase alone = c;
                        alone.sequences = {c.sequences[b]};
                        alone.first_sequence = static_cast<int64_t>(b);
                        FullQuantCall one(alone, storage);
                        run(one);
                        expect(bits(alone, one) == bits(c, call, row, c.sequences[b].q_len),
                               label(c, storage) + ": same bits without neighbours");
                    }
                }
                set_thread_count(0);
            });
        }
    }
}

// A key that a row does not see has no influence on it; a NaN that it sees shows.
void test_containment() {
    for (FullQuantCase c : make_cases()) {
        if (c.has_bias || c.has_mask || c.is_long) continue;
        const int64_t kv_len = 289, q_len = 7, spoiled = 288;  // which begins a group of 32, and only the last row sees
        c.sequences = {{q_len, kv_len, causal(q_len, kv_len)}, {3, 40}};
        for (const Storage storage : storages(c)) {
            for_each_target([&](int) {
                FullQuantCall clean(c, storage), spoilt(c, storage);
                spoilt.spoil(c, 0, spoiled);
                run(clean);
                run(spoilt);
                const std::string name = label(c, storage);
                expect(bits(c, clean, 0, q_len - 1) == bits(c, spoilt, 0, q_len - 1), name + ": hidden NaN");
                expect(bits(c, clean, q_len) == bits(c, spoilt, q_len), name + ": another sequence's NaN");
                if (c.kind == Kind::per_tensor_i8) return;
                visit_rows(spoilt, [&](size_t index, int64_t at, float lse) {
                    if (static_cast<int64_t>(index) / c.heads != q_len - 1) return;
                    const float x = read_element(c.out_dtype, spoilt.o.out, at);
                    expect(std::isnan(x) && std::isnan(lse), name + ": NaN that a row sees");
                });
            });
        }
    }
}

// Values that are NaN or infinite for some rows only, beside ordinary keys.
void test_spoiled_values() {
    for (const Dtype dtype : {Dtype::f8_e4m3, Dtype::hif8}) {
        FullQuantCase c;
        c.name = "spoiled values";
        c.kind = dtype == Dtype::hif8 ? Kind::mla : Kind::mx_f8;
        c.dtype = dtype;
        c.dim = c.dim_v = 64;
        if (dtype == Dtype::hif8) c.kv_heads = 1, c.rope_dim = 16;
        c.sequences = {{40, 300, causal(40, 300)}};
        for_each_target([&](int) {
            FullQuantCall clean(c, Storage::contiguous), spoilt(c, Storage::contiguous);
            Guarded<uint8_t>& values = c.is_mla() ? spoilt.k : spoilt.v;
            const KvLayout& layout = c.is_mla() ? spoilt.p.key : spoilt.p.value;
            const int64_t key = 280;  // seen by rows 20 and up
            write_element(dtype, values.data(), key * layout.token_stride + 7, std::nanf(""));
            run(clean);
            run(spoilt);
            const std::string name = label(c, Storage::contiguous);
            expect(bits(c, clean, 0, 20) == bits(c, spoilt, 0, 20), name + ": rows that do not see it");
            visit_rows(spoilt, [&](size_t index, int64_t at, float) {
                if (static_cast<int64_t>(index) / c.heads < 20 || index % static_cast<size_t>(c.heads) > 1) return;
                expect(std::isnan(read_element(c.out_dtype, spoilt.o.out, at + 7)), name + ": rows that see it");
                const float x = read_element(c.out_dtype, spoilt.o.out, at + 8);
                // Where values are keys, its score is NaN as well.
                expect(std::isnan(x) == c.is_mla(), name + ": its other channels");
            });
        });
    }
}

}  // namespace
}  // namespace engine_test

int main() {
    engine_test::test_against_reference();
    engine_test::test_threads_and_neighbours();
    engine_test::test_containment();
    engine_test::test_spoiled_values();
    return engine_test::finish("engine_full_quant");
}
