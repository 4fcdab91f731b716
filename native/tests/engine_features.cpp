// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every feature beyond plain attention against the double computation of engine_contract.h, on every instruction set,
// in every storage with the same bits, alone and combined.
#include "engine_features_problem.h"
#include "engine_reference.h"

namespace engine_test {
namespace {

void run(Call& call) {
    const auto plan = Attention::plan(call.p);
    std::vector<unsigned char> memory(plan->workspace_bytes() + 4, 0xff);
    expect(!plan->run(call.o, memory.data() + 4).found, "no fault");
}

std::string label(const Features& f, Storage storage) {
    return std::string(f.name) + " [" + target_name(target_in_use()) + "] storage " +
           std::to_string(static_cast<int>(storage));
}

// Post-quantised results: nearly all codes those of the exact number (others lie on a rounding's border).
void check_codes(const Call& call, const std::vector<double>& want, const std::string& name) {
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); i++) {
        uint8_t code[1];
        write_element(call.p.out_dtype, code, 0, static_cast<float>(want[i]));
        wrong += code[0] != static_cast<const uint8_t*>(call.o.out)[i];
    }
    expect(wrong * 50 <= want.size(), name + ": " + std::to_string(wrong) + " of " + std::to_string(want.size()) +
                                          " codes differ");
}

using ExactRows = std::vector<ExactRow>;  // of each sequence, token and head

ExactRows exact_rows(const Call& call) {
    ExactRows rows;
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < call.p.heads; h++) rows.push_back(exact_row(call.p, call.o, s, i, h));
        }
    }
    return rows;
}

void check(const Features& f, const Call& call, const ExactRows& rows, const std::string& name) {
    const Problem& p = call.p;
    auto next = rows.begin();
    std::vector<double> want;
    double square = 0, error = 0, worst_lse = 0;
    bool shape = true;
    for (const Sequence& s : p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < p.heads; h++) {
                const ExactRow& row = *next++;
                const int64_t at = s.out_offset + i * p.out.token_stride + h * p.out.head_stride;
                for (int64_t d = 0; d < p.dim_v; d++) {
                    const double x = row.out[static_cast<size_t>(d)];
                    const double got = read_element(f.out_dtype, call.o.out, at + d);
                    shape = shape && std::isfinite(got);
                    want.push_back(x);
                    square += x * x;
                    error += (got - x) * (got - x);
                }
                const float lse = call.lse[static_cast<size_t>(s.lse_offset + i * p.lse.token_stride + h)];
                if (std::isinf(row.lse)) {
                    shape = shape && static_cast<double>(lse) == row.lse;
                } else {
                    worst_lse = std::max(worst_lse, std::fabs(lse - row.lse) / std::max(1.0, std::fabs(row.lse)));
                }
            }
        }
    }
    const double rms = std::sqrt(error / square);
    char text[160];
    std::snprintf(text, sizeof text, ": rms %.6f, lse %.2e, shape %s", rms, worst_lse, shape ? "ok" : "wrong");
    if (p.post_quant.present) {
        check_codes(call, want, name);
        expect(shape && worst_lse <= kLseLimit, name + text);
    } else {
        expect(shape && rms <= rms_limit(f.dtype) && worst_lse <= kLseLimit, name + text);
    }
}

std::vector<Storage> storages_of(const Features& f) {
    const bool only_paged = f.scales == Scales::token_paged || f.scales == Scales::token_head_paged;
    std::vector<Storage> storages = {Storage::paged_tokens, Storage::paged_heads};
    if (!only_paged) storages.push_back(Storage::contiguous);
    if (f.dim % 16 == 0 && f.dim_v % 16 == 0) storages.push_back(Storage::paged_chunks);
    return storages;
}

// Storages differ in nothing but the place of keys and values.
void check_features(const Features& f, const ExactRows& want) {
    std::vector<uint8_t> first;
    std::vector<float> first_lse;
    for (const Storage storage : storages_of(f)) {
        Call call(f, storage);
        run(call);
        if (first.empty()) {
            check(f, call, want, label(f, storage));
            first = call.out.bytes;
            first_lse = call.lse;
        } else {
            expect(call.out.bytes == first && call.lse == first_lse, label(f, storage) + ": other bits");
        }
    }
}

// NaN, or another number where the type has none, in all that belongs to own token `first` and those after it.
void spoil(Call& call, const Features& f, int64_t first) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const Sequence& s : call.p.sequences) {
        const Problem& p = call.p;
        const Page page = page_of(p, call.o, s);
        for (int64_t t = first; t < s.kv_len - p.prefix_len; t++) {
            for (int64_t h = 0; h < p.kv_heads; h++) {
                const auto put = [&](Buffer& to, Dtype dtype, const KvLayout& l, int64_t origin, int64_t head_stride,
                                     int64_t dim) {
                    for (int64_t d = 0; d < dim; d++) {
                        write_element(dtype, to.data(), kv_index(page, l, origin, head_stride, t, h, d), nan);
                    }
                };
                put(call.k, p.kv_dtype, p.key, s.key_offset, s.key_head_stride, p.dim);
                if (!p.value_is_key) put(call.v, p.kv_dtype, p.value, s.value_offset, s.value_head_stride, p.dim_v);
                if (p.rope_dim > 0) {
                    put(call.kr, p.dtype, p.key_rope, s.key_rope_offset, s.key_rope_head_stride, p.rope_dim);
                }
                const auto put_scale = [&](Buffer& to, const Dequant& d, int64_t origin, int64_t dim) {
                    if (!d.layout.paged && d.layout.token_stride == 0) return;  // shared with other tokens
                    for (int64_t c = 0; c < dim; c++) {
                        write_element(d.layout.dtype, to.data(), scale_index(page, d.layout, origin, t, h, c), nan);
                    }
                };
                if (p.key_dequant.has_scale) put_scale(call.ks, p.key_dequant, s.key_scale_offset, p.dim);
                if (p.value_dequant.has_scale) put_scale(call.vs, p.value_dequant, s.value_scale_offset, p.dim_v);
            }
        }
        if (p.bias != BiasKind::tensor || f.bias_row_shared) continue;
        for (int64_t head = 0; head < p.heads; head++) {
            for (int64_t i = 0; i < s.q_len; i++) {
                for (int64_t j = p.prefix_len + first; j < s.kv_len; j++) {
                    write_element(p.dtype, call.bias.data(),
                                  s.bias_offset + head * p.bias_head_stride + i * p.bias_row_stride + j, nan);
                }
            }
        }
    }
}

// Rows that do not see a spoiled key keep every bit, beside rows that see it.
void check_containment(Features f) {
    const int64_t unspoiled = 4;
    f.sequences.clear();
    for (const int64_t q_len : {6, 40}) {
        f.sequences.push_back({q_len, 60, {kOpenFirst, f.prefix_len}});  // row i sees own keys 0 .. i
    }
    const Storage storage = Storage::paged_tokens;
    Call clean(f, storage), spoiled(f, storage);
    spoil(spoiled, f, unspoiled);
    run(clean);
    run(spoiled);
    for (const Sequence& s : clean.p.sequences) {
        const int64_t begin = bytes_of(f.out_dtype, s.out_offset);
        const int64_t size = bytes_of(f.out_dtype, unspoiled * clean.p.out.token_stride);
        const bool same = std::memcmp(clean.out.bytes.data() + begin, spoiled.out.bytes.data() + begin,
                                      static_cast<size_t>(size)) == 0 &&
                          std::memcmp(clean.lse.data() + s.lse_offset, spoiled.lse.data() + s.lse_offset,
                                      sizeof(float) * static_cast<size_t>(unspoiled * clean.p.heads)) == 0;
        expect(same, label(f, storage) + ": an invisible key changed a row");
    }
}

}  // namespace
}  // namespace engine_test

int main() {
    using namespace engine_test;
    for (const Features& f : cases()) {
        // The obvious computation takes longer than the engine: once for all instruction sets.
        const ExactRows want = exact_rows(Call(f, storages_of(f)[0]));
        for_each_target([&](int) {
            check_features(f, want);
            check_containment(f);
        });
    }
    return finish("engine_features");
}
