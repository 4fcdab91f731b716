// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored keys and values whose codes, scales or offsets are at the edges, beside queries that are: many rows, which are
// computed from the codes where scales allow that, and few, against the double computation of engine_contract.h. A row
// must be NaN or infinite where that says so, and otherwise as accurate as ever.
#include <cstring>
#include <functional>
#include <memory>

#include "engine_features_problem.h"
#include "engine_reference.h"

namespace engine_test {
namespace {

using Change = std::function<void(Call&)>;

void run(const Call& call, int threads) {
    set_thread_count(threads);
    const auto plan = Attention::plan(call.p);
    std::vector<unsigned char> memory(plan->workspace_bytes() + 4, 0xff);
    expect(!plan->run(call.o, memory.data() + 4).found, "no fault");
    set_thread_count(0);
}

// The number as the output's type has it: some that a double holds are infinite there.
double rounded(Dtype dtype, double x) { return decode(dtype, encode(dtype, static_cast<float>(x))); }

bool same_kind(double want, double got) {
    if (std::isnan(want)) return std::isnan(got);
    return std::isinf(want) ? got == want : std::isfinite(got);
}

std::vector<ExactRow> exact_rows(const Call& call) {
    std::vector<ExactRow> rows;
    for (const Sequence& s : call.p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < call.p.heads; h++) rows.push_back(exact_row(call.p, call.o, s, i, h));
        }
    }
    return rows;
}

void check(const Call& call, const std::vector<ExactRow>& rows, const std::string& name) {
    const Problem& p = call.p;
    auto next = rows.begin();
    double square = 0, error = 0, rounding = 0;
    int wrong_lse = 0, wrong = 0;
    for (const Sequence& s : p.sequences) {
        for (int64_t i = 0; i < s.q_len; i++) {
            for (int64_t h = 0; h < p.heads; h++) {
                const ExactRow& row = *next++;
                const float lse = call.lse[static_cast<size_t>(s.lse_offset + i * p.lse.token_stride + h)];
                const bool is_close = std::fabs(lse - row.lse) <= kLseLimit * std::max(1.0, std::fabs(row.lse));
                wrong_lse += !same_kind(row.lse, lse) || (std::isfinite(row.lse) && !is_close);
                for (int64_t d = 0; d < p.dim_v; d++) {
                    const double exact = row.out[static_cast<size_t>(d)], x = rounded(p.dtype, exact);
                    const double got = read_element(p.out_dtype, call.o.out,
                                                    s.out_offset + i * p.out.token_stride + h * p.out.head_stride + d);
                    wrong += !same_kind(x, got);
                    if (!std::isfinite(x) || !std::isfinite(got)) continue;
                    square += exact * exact;
                    error += (got - exact) * (got - exact);
                    rounding += (x - exact) * (x - exact);
                }
            }
        }
    }
    const double rms = square > 0 ? std::sqrt(error / square) : error;
    constexpr double kSlack = 1.1;  // a few rows may favour the keys whose probabilities have no residual (gemm-inl.h)
    const double limit = kSlack * std::max(rms_limit(p.dtype), square > 0 ? 1.25 * std::sqrt(rounding / square) : 0.0);
    char text[120];
    std::snprintf(text, sizeof text, ": %d lse and %d numbers wrong, rms %.6f of %.6f", wrong_lse, wrong, rms, limit);
    expect(wrong == 0 && wrong_lse == 0 && rms <= limit, name + text);
}

struct Edge {
    const char* name;
    Change change;
};

constexpr int64_t kTouched = 70;  // a key that only some rows see

// Writes a number of the scale, or offset, of key kTouched, or, where tokens share it, of channel 5.
void put_number(Call& call, Buffer& to, const Dequant& dequant, float x) {
    const Sequence& s = call.p.sequences[0];
    const Page page = page_of(call.p, call.o, s);
    const bool is_key = &to == &call.ks || &to == &call.ko;
    const int64_t origin = is_key ? s.key_scale_offset : s.value_scale_offset;
    write_element(dequant.layout.dtype, to.data(), scale_index(page, dequant.layout, origin, kTouched, 0, 5), x);
}

// A number of key kTouched, KV head 0.
void put_code(Call& call, bool is_key, int64_t channel, float x) {
    const Sequence& s = call.p.sequences[0];
    const KvLayout& layout = is_key ? call.p.key : call.p.value;
    const int64_t index = kv_index(page_of(call.p, call.o, s), layout, is_key ? s.key_offset : s.value_offset,
                                   is_key ? s.key_head_stride : s.value_head_stride, kTouched, 0, channel);
    write_element(call.p.kv_dtype, (is_key ? call.k : call.v).data(), index, x);
}

void put_query(Call& call, int64_t token, float x) {
    write_element(call.p.dtype, call.q.data(), token * call.p.query.token_stride + 7, x);
}

std::vector<Edge> edges(Dtype stored, Dtype query, bool has_offset) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<Edge> all = {{"nothing", [](Call&) {}}};
    for (const float x : {0.0f, -0.5f, nan, inf, -inf, 0x1p-100f, 0x1p-70f}) {
        all.push_back({"a key scale", [x](Call& c) { put_number(c, c.ks, c.p.key_dequant, x); }});
        all.push_back({"a value scale", [x](Call& c) { put_number(c, c.vs, c.p.value_dequant, x); }});
    }
    for (const float x : {7.0f, -128.5f, 200.0f, nan}) {
        if (!has_offset) break;
        all.push_back({"a key offset", [x](Call& c) { put_number(c, c.ko, c.p.key_dequant, x); }});
        all.push_back({"a value offset", [x](Call& c) { put_number(c, c.vo, c.p.value_dequant, x); }});
    }
    if (has_offset) {
        all.push_back({"an infinite value offset", [=](Call& c) { put_number(c, c.vo, c.p.value_dequant, inf); }});
    }
    all.push_back({"a huge value scale", [](Call& c) { put_number(c, c.vs, c.p.value_dequant, 0x1p100f); }});
    all.push_back({"a large value scale", [](Call& c) { put_number(c, c.vs, c.p.value_dequant, 0x1p50f); }});
    all.push_back({"NaN in the query", [=](Call& c) { put_query(c, 3, nan); }});
    all.push_back({"an infinity in the query", [=](Call& c) { put_query(c, 3, inf); }});
    all.push_back({"a subnormal query", [](Call& c) { put_query(c, 3, 1e-40f); }});
    all.push_back({"a negative scale of scores", [](Call& c) { c.p.scale = -c.p.scale; }});
    all.push_back({"a scale of 0 of scores", [](Call& c) { c.p.scale = 0.0f; }});
    all.push_back({"no query", [](Call& c) { c.p.sequences[0].q_len = 0; }});
    all.push_back({"one key", [](Call& c) { c.p.sequences[0].kv_len = 1; }});
    if (query == Dtype::bf16) {
        all.push_back({"a huge query beside small scales", [](Call& c) {
            for (int64_t d = 0; d < c.p.dim; d++) {
                write_element(c.p.dtype, c.q.data(), c.p.query.token_stride + d, d % 2 == 0 ? 1e36f : -1e36f);
            }
            c.p.scale *= 1e-36f;
        }});
    }
    if (stored == Dtype::f8_e4m3 || stored == Dtype::hif8) {
        all.push_back({"NaN in a key", [=](Call& c) { put_code(c, true, 3, nan); }});
        all.push_back({"NaN in a value", [=](Call& c) { put_code(c, false, 3, nan); }});
    }
    if (stored == Dtype::hif8) {
        all.push_back({"an infinity in a key", [=](Call& c) { put_code(c, true, 3, inf); }});
        all.push_back({"infinities in a value", [=](Call& c) {
            put_code(c, false, 3, inf);
            put_code(c, false, 4, -inf);
        }});
    }
    return all;
}

struct Kind {
    const char* name;
    Scales keys, values;
    bool is_wide = true;  // fp32, or of the query's type
    bool has_offset = false;
};

Features features(Dtype query, Dtype stored, const Kind& kind, Scales scales, int64_t q_len) {
    Features f;
    f.dtype = f.out_dtype = query;
    f.kv_dtype = stored;
    f.scales = scales;
    f.scale_dtype = kind.is_wide ? Dtype::f32 : query;
    f.has_offset = kind.has_offset;
    f.heads = 2;
    f.kv_heads = 1;
    f.dim = 40;
    f.dim_v = 56;
    f.sequences = {{q_len, 300, {kOpenFirst, kTouched - 10}}};  // rows before token 10 do not see key kTouched
    return f;
}

// Keys with one kind of scales, values with another.
void mix(Call& call, const Call& values) {
    call.p.value_dequant = values.p.value_dequant;
    call.vs = values.vs;
    call.vo = values.vo;
    call.o.value_scale = call.vs.data();
    call.o.value_offset = call.vo.data();
    for (size_t i = 0; i < call.p.sequences.size(); i++) {
        call.p.sequences[i].value_scale_offset = values.p.sequences[i].value_scale_offset;
    }
}

void check_edges(Dtype query, Dtype stored, const Kind& kind) {
    for (const int64_t q_len : {5, 40}) {
        const Storage storage = Storage::paged_tokens;
        for (const Edge& edge : edges(stored, query, kind.has_offset)) {
            Call call(features(query, stored, kind, kind.keys, q_len), storage);
            mix(call, Call(features(query, stored, kind, kind.values, q_len), storage));
            edge.change(call);
            // The obvious computation takes longer than the engine: once for all instruction sets.
            const std::vector<ExactRow> want = exact_rows(call);
            for_each_target([&](int target) {
                run(call, 1);
                check(call, want, std::string(target_name(target)) + (query == Dtype::f16 ? " fp16 " : " bf16 ") +
                                      std::to_string(static_cast<int>(stored)) + " " + kind.name + " q" +
                                      std::to_string(q_len) + ": " + edge.name);
            });
        }
    }
}

// The bits of a row do not depend on threads, nor on rows beside it that the products cannot take.
void check_determinism(Dtype query, const Kind& kind) {
    const auto make = [&](Storage storage, int64_t q_len) {
        auto call = std::make_unique<Call>(features(query, Dtype::f8_e4m3, kind, kind.keys, q_len), storage);
        mix(*call, Call(features(query, Dtype::f8_e4m3, kind, kind.values, q_len), storage));
        return call;
    };
    const auto want = make(Storage::contiguous, 300), got = make(Storage::paged_heads, 300);
    const auto spoiled = make(Storage::contiguous, 300);
    put_query(*spoiled, 17, std::numeric_limits<float>::infinity());
    run(*want, 1);
    run(*got, 3);
    run(*spoiled, 2);
    expect(want->out.bytes == got->out.bytes && want->lse == got->lse, "other bits with threads or pages");
    for (int64_t i = 0; i < 300; i++) {
        const int64_t bytes = bytes_of(query, want->p.out.token_stride);
        expect(i == 17 || std::memcmp(want->out.bytes.data() + i * bytes, spoiled->out.bytes.data() + i * bytes,
                                      static_cast<size_t>(bytes)) == 0,
               "another row's query changed row " + std::to_string(i));
    }
}

}  // namespace
}  // namespace engine_test

int main() {
    using namespace engine_test;
    const std::vector<Kind> kinds = {{"tensor", Scales::tensor, Scales::tensor},
                                     {"channel", Scales::channel, Scales::channel},
                                     {"narrow channel", Scales::channel, Scales::channel, false},
                                     {"offset", Scales::tensor, Scales::tensor, true, true},
                                     {"channel with offset", Scales::channel, Scales::channel, false, true},
                                     {"token", Scales::token, Scales::token},
                                     {"channel and token", Scales::channel, Scales::token_head},
                                     {"token and channel", Scales::token_head, Scales::channel}};
    for (const Dtype query : {Dtype::bf16, Dtype::f16}) {
        for (const Kind& kind : kinds) {
            for (const Dtype stored : {Dtype::i8, Dtype::i4, Dtype::f8_e4m3, Dtype::hif8, Dtype::f4_e2m1}) {
                const bool is_integer = stored == Dtype::i8 || stored == Dtype::i4;
                if (!kind.has_offset || is_integer) check_edges(query, stored, kind);  // others have no use for offsets
            }
            for_each_target([&](int) { check_determinism(query, kind); });
        }
    }
    return finish("engine_codes");
}
