// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls with quantised queries: the same logical numbers in several storages, in guarded arrays of the exact size.
#pragma once

#include "engine_contract.h"
#include "engine_problem.h"

namespace engine_test {

struct FullQuantCase {
    const char* name = "";
    FullQuant::Kind kind = FullQuant::Kind::per_tensor_i8;
    Dtype dtype = Dtype::i8, out_dtype = Dtype::bf16;
    int32_t heads = 4, kv_heads = 2, dim = 64, dim_v = 64, rope_dim = 0;
    int32_t block_size = 64;
    float weight_scale = 0;  // quant_scale1; 0: not given
    bool has_bias = false, has_mask = false;
    bool words = false;           // deq_scale1 and 2 are UINT64
    bool scales_by_group = false; // the query's scales with the KV head outermost
    bool heads_outside = false;   // query, output and query scales [head][token]
    Sequences sequences = {{1, 70}, {7, 300}, {2, 900}, {20, 1100}, {3, 0}};
    bool is_long = false;         // only for comparison
    int64_t first_sequence = 0;   // the numbers of sequences[0] are those of this one

    bool is_mla() const { return kind == FullQuant::Kind::mla; }
    bool is_mx() const { return kind == FullQuant::Kind::mx_f8; }
    bool is_gqa() const { return kind == FullQuant::Kind::gqa_f8; }
};

// Deterministic numbers by what they are for, whatever the storage. About what makes logits of some units.
struct FullQuantNumbers {
    const FullQuantCase& c;

    static Random random(uint64_t use, int64_t sequence, int64_t token, int64_t head) {
        return Random(use * 1000003 + static_cast<uint64_t>(sequence * 7919 + token * 131 + head));
    }
    float unit() const { return c.dtype == Dtype::i8 ? 40.0f : c.dtype == Dtype::hif8 ? 3.0f : 60.0f; }
    std::vector<float> row(uint64_t use, int64_t sequence, int64_t token, int64_t head, int64_t n, float size) const {
        Random from = random(use, sequence, token, head);
        std::vector<float> x;
        for (int64_t d = 0; d < n; d++) x.push_back(size * static_cast<float>(from.normal()));
        return x;
    }
    float around(uint64_t use, int64_t sequence, int64_t token, int64_t head, float size) const {
        return size * static_cast<float>(0.5 + random(use, sequence, token, head).uniform());
    }
    // E8M0 codes of powers of two about 1 / unit.
    uint8_t exponent(uint64_t use, int64_t sequence, int64_t token, int64_t head) const {
        return static_cast<uint8_t>(127 - 7 + random(use, sequence, token, head).below(3));
    }
};

struct FullQuantCall {
    Problem p;
    Operands o;
    Guarded<uint8_t> q, k, v, qr, kr, bias, qs, ks, vs, out, deq1, deq2;
    Guarded<float> lse, quant1;
    Guarded<uint8_t> mask;
    Guarded<int32_t> table;

    MemoryRanges ranges() const {
        MemoryRanges all;
        const auto add = [&](const auto& array, const char* name, bool is_written = false) {
            all.push_back({array.data(), array.size() * sizeof array[0], name, is_written});
        };
        for (const Guarded<uint8_t>* one : {&q, &k, &v, &qr, &kr, &bias, &qs, &ks, &vs, &deq1, &deq2, &mask}) {
            add(*one, "an input");
        }
        add(quant1, "quant_scale1"), add(table, "block table"), add(out, "out", true), add(lse, "lse", true);
        return all;
    }
    const void *key_member = nullptr, *value_member = nullptr;

    // Makes key t of sequence b NaN wherever the formats have one: its channels, and scales that are its own.
    void spoil(const FullQuantCase& c, size_t b, int64_t t);

    FullQuantCall(const FullQuantCase& c, Storage storage, uint8_t poison = 0xff);
    FullQuantCall(const FullQuantCall&) = delete;

private:
    void lay_scales(const FullQuantCase& c, Storage storage, int64_t rows, int64_t keys, int64_t value_pairs);
    void fill_sequence(const FullQuantCase& c, int64_t b, const Sequence& s);
};

// Of KV head h and the page of token t, or the sequence.
inline int64_t scale_page(const FullQuantCall& call, const LineScaleLayout& l, const Sequence& s, int64_t origin,
                          int64_t t, int64_t h) {
    if (call.p.block_size == 0) return origin + h * l.head_stride;
    return call.table[static_cast<size_t>(s.table_offset + t / call.p.block_size)] * l.block_stride + h * l.head_stride;
}
inline int64_t scale_in_page(const LineScaleLayout& l, int64_t line, int64_t g) {
    return line / l.run * l.run_stride + line % l.run * l.line_stride + g / 2 * l.pair_stride + g % 2;
}

inline CacheLayout full_quant_cache(const FullQuantCase& c, Storage storage, int32_t dim, int32_t chunk) {
    Spec spec;
    spec.kv_heads = c.kv_heads;
    spec.block_size = c.block_size;
    spec.storage = storage;
    CacheLayout l = cache_layout(spec, dim);
    if (storage != Storage::paged_chunks) return l;
    l.chunk = chunk;
    l.token_stride = chunk;
    l.chunk_stride = int64_t{c.block_size} * chunk;
    l.head_stride = (dim + chunk - 1) / chunk * l.chunk_stride;
    l.block_stride = c.kv_heads * l.head_stride;
    return l;
}

inline void FullQuantCall::lay_scales(const FullQuantCase& c, Storage storage, int64_t rows, int64_t keys,
                                      int64_t value_pairs) {
    FullQuant& f = p.full_quant;
    const int64_t group = c.heads / c.kv_heads, width = c.is_mx() ? c.dim / 32 : 1, n = c.kv_heads;
    if (c.scales_by_group) {
        f.query_scale = {group * width, rows * group * width, width};
    } else if (c.heads_outside) {
        f.query_scale = {width, group * rows * width, rows * width};
    } else {
        f.query_scale = {c.heads * width, group * width, width};
    }
    const int64_t bs = c.block_size, blocks = p.block_count;
    const bool paged = storage != Storage::contiguous;
    int64_t key_size = 1, value_size = 1;
    if (c.is_gqa()) {
        f.key_scale = {bs, n * bs, 1, 0, 0, 1};
        key_size = blocks * n * bs;
        value_size = n;
    } else if (c.is_mx() && !paged) {
        f.key_scale = {width, 0, n * width, 0, 2, 1};
        f.value_scale = {c.dim_v * 2, 0, 2, 0, n * c.dim_v * 2, 1};
        key_size = keys * n * width;
        value_size = value_pairs * n * c.dim_v * 2;
    } else if (c.is_mx() && storage == Storage::paged_chunks) {
        f.key_scale = {bs * width, n * bs * width, 16 * width, 2, 32, 16};
        f.value_scale = {c.dim_v * bs / 32, n * c.dim_v * bs / 32, bs / 64 * 32, 2, 32, 16};
        key_size = blocks * n * bs * width;
        value_size = blocks * n * c.dim_v * bs / 32;
    } else if (c.is_mx()) {
        const int64_t gap = 3;  // blocks need not be dense
        f.key_scale = {bs * width, n * bs * width + gap, width, 0, 2, 1};
        f.value_scale = {c.dim_v * bs / 32, n * c.dim_v * bs / 32 + gap, 2, 0, c.dim_v * 2, 1};
        key_size = blocks * f.key_scale.block_stride;
        value_size = blocks * f.value_scale.block_stride;
    }
    const int64_t bytes = c.is_mx() ? 1 : 4;
    qs.assign(static_cast<size_t>(rows * c.heads * width * bytes), 0xff);
    ks.assign(static_cast<size_t>(key_size * bytes), 0xff);
    vs.assign(static_cast<size_t>(value_size * bytes), 0xff);
    const float unit = FullQuantNumbers{c}.unit();
    if (c.is_mla()) {
        write_element(Dtype::f32, ks.data(), 0, 1 / unit);
        write_element(Dtype::f32, vs.data(), 0, 1.1f / unit);
    }
    for (int64_t h = 0; c.is_gqa() && h < n; h++) {
        write_element(Dtype::f32, vs.data(), h, (1 + 0.3f * static_cast<float>(h)) / unit);
    }
    deq1.assign(c.words ? 8 : 4, 0xff);
    deq2.assign(c.words ? 8 : 4, 0xff);
    write_element(Dtype::f32, deq1.data(), 0, 1.7f / (unit * unit));
    write_element(Dtype::f32, deq2.data(), 0, 1 / (unit * (c.weight_scale == 0 ? 1 : c.weight_scale)));
    f.deq_scale1_is_word = f.deq_scale2_is_word = c.words;
    if (c.weight_scale != 0) {
        quant1.assign(1, c.weight_scale);
        o.quant_scale1 = quant1.data();
    }
    o.query_scale = qs.data();
    o.key_scale = ks.data();
    o.value_scale = vs.data();
    o.deq_scale1 = deq1.data();
    o.deq_scale2 = deq2.data();
}

inline FullQuantCall::FullQuantCall(const FullQuantCase& c, Storage storage, uint8_t poison) {
    p.full_quant.kind = c.kind;
    p.dtype = p.kv_dtype = c.dtype;
    p.out_dtype = c.out_dtype;
    p.heads = c.heads;
    p.kv_heads = c.kv_heads;
    p.dim = c.dim;
    p.dim_v = c.dim_v;
    p.rope_dim = c.rope_dim;
    p.value_is_key = c.is_mla();
    p.scale = 1.0f / std::sqrt(static_cast<float>(c.dim + c.rope_dim));
    p.wants_lse = true;
    int64_t rows = 0, keys = 0, blocks = 0, widest = 0, pairs = 0;
    for (const SequenceSpec& s : c.sequences) {
        rows += s.q_len;
        keys += s.kv_len;
        pairs += (s.kv_len + 63) / 64;
        blocks += (s.kv_len + c.block_size - 1) / c.block_size;
        widest = std::max(widest, s.kv_len);
    }
    const int64_t batch = static_cast<int64_t>(c.sequences.size());
    const bool paged = storage != Storage::contiguous;
    const int64_t columns = (widest + c.block_size - 1) / c.block_size;
    if (paged) {
        p.block_size = c.block_size;
        p.block_count = blocks;
        table.assign(static_cast<size_t>(columns * batch), -1);
    }
    const auto row_layout = [&](int64_t dim) {
        return c.heads_outside ? RowLayout{dim, rows * dim} : RowLayout{c.heads * dim, dim};
    };
    p.query = row_layout(c.dim);
    p.query_rope = row_layout(c.rope_dim);
    p.out = row_layout(c.dim_v);
    p.lse = {c.heads, 1};
    const CacheLayout key = full_quant_cache(c, storage, c.dim, 32), value = full_quant_cache(c, storage, c.dim_v, 32),
                      rope = full_quant_cache(c, storage, c.rope_dim, 16);
    p.key = key;
    p.value = value;
    p.key_rope = rope;
    const auto cache_bytes = [&](const CacheLayout& l, int64_t size) {
        return static_cast<size_t>(size * (paged ? blocks * l.block_stride : keys * l.token_stride));
    };
    q.assign(static_cast<size_t>(rows * c.heads * c.dim), poison);
    qr.assign(static_cast<size_t>(2 * rows * c.heads * c.rope_dim), poison);
    k.assign(cache_bytes(key, 1), poison);
    v.assign(c.is_mla() ? 0 : cache_bytes(value, 1), poison);
    kr.assign(c.rope_dim == 0 ? 0 : cache_bytes(rope, 2), poison);
    out.assign(static_cast<size_t>(2 * rows * c.heads * c.dim_v), 0xab);
    lse.assign(static_cast<size_t>(rows * c.heads), -1.0f);
    lay_scales(c, storage, rows, keys, pairs);
    if (c.has_mask) {
        p.has_mask = true;
        p.mask_row_stride = widest;
        mask.assign(static_cast<size_t>(rows * widest), 0);
        Random random(5);
        for (size_t i = 0; i < mask.size(); i++) mask[i] = random.below(3) == 0;
    }
    if (c.has_bias) {
        int64_t longest = 1;
        for (const SequenceSpec& s : c.sequences) longest = std::max(longest, s.q_len);
        p.bias = BiasKind::tensor;
        p.bias_row_stride = widest;
        p.bias_head_stride = longest * widest;
        bias.assign(static_cast<size_t>(2 * batch * c.heads * longest * widest), 0xff);
        Random random(6);
        for (size_t i = 0; i < bias.size() / 2; i++) {
            write_element(Dtype::f16, bias.data(), static_cast<int64_t>(i), static_cast<float>(random.normal()));
        }
    }
    key_member = k.data();
    value_member = v.data();
    o.query = q.data();
    o.query_rope = qr.data();
    o.key = &key_member;
    o.value = c.is_mla() ? nullptr : &value_member;
    o.key_rope = kr.data();
    o.bias = bias.data();
    o.mask = mask.data();
    o.block_table = table.data();
    o.out = out.data();
    o.lse = lse.data();

    int64_t row = 0, first_key = 0, pair = 0;
    int32_t block = static_cast<int32_t>(blocks);
    for (int64_t b = 0; b < batch; b++) {
        const SequenceSpec& from = c.sequences[static_cast<size_t>(b)];
        Sequence s;
        s.q_len = from.q_len;
        s.kv_len = from.kv_len;
        s.band = from.band;
        s.q_offset = row * p.query.token_stride;
        s.query_rope_offset = row * p.query_rope.token_stride;
        s.query_scale_offset = row * p.full_quant.query_scale.token_stride;
        s.out_offset = row * p.out.token_stride;
        s.lse_offset = row * p.lse.token_stride;
        s.mask_offset = row * widest;
        s.bias_offset = b * c.heads * p.bias_head_stride;
        s.key_head_stride = key.head_stride;
        s.value_head_stride = value.head_stride;
        s.key_rope_head_stride = rope.head_stride;
        if (paged) {
            s.table_offset = b * columns;
            for (int64_t i = 0; i * c.block_size < s.kv_len; i++) {
                table[static_cast<size_t>(s.table_offset + i)] = --block;
            }
        } else {
            s.key_offset = first_key * key.token_stride;
            s.value_offset = first_key * value.token_stride;
            s.key_rope_offset = first_key * rope.token_stride;
            s.key_scale_offset = first_key * p.full_quant.key_scale.run_stride;
            s.value_scale_offset = pair * p.full_quant.value_scale.pair_stride;
        }
        row += s.q_len;
        first_key += s.kv_len;
        pair += (s.kv_len + 63) / 64;
        fill_sequence(c, c.first_sequence + b, s);
        p.sequences.push_back(s);
    }
}

inline void FullQuantCall::fill_sequence(const FullQuantCase& c, int64_t b, const Sequence& s) {
    const FullQuantNumbers numbers{c};
    const float unit = numbers.unit();
    // A rope is added before the scales apply, but for mx_f8.
    const float rope_unit = c.is_mla() ? unit : 1.0f;
    const int64_t group = c.heads / c.kv_heads;
    const auto put = [](Dtype dtype, Guarded<uint8_t>& to, int64_t at, const std::vector<float>& x) {
        for (size_t d = 0; d < x.size(); d++) write_element(dtype, to.data(), at + static_cast<int64_t>(d), x[d]);
    };
    for (int64_t t = 0; t < s.q_len; t++) {
        for (int64_t h = 0; h < c.heads; h++) {
            put(c.dtype, q, s.q_offset + t * p.query.token_stride + h * p.query.head_stride,
                numbers.row(1, b, t, h, c.dim, unit));
            put(Dtype::bf16, qr, s.query_rope_offset + t * p.query_rope.token_stride + h * p.query_rope.head_stride,
                numbers.row(2, b, t, h, c.rope_dim, rope_unit));
            const QueryScaleLayout& l = p.full_quant.query_scale;
            const int64_t at = s.query_scale_offset + t * l.token_stride + h / group * l.kv_head_stride +
                               h % group * l.head_stride;
            if (c.is_mla() || c.is_gqa()) {
                write_element(Dtype::f32, qs.data(), at, numbers.around(3, b, t, h, 2 / unit));
            }
            for (int64_t g = 0; c.is_mx() && g < c.dim / 32; g++) {
                qs[static_cast<size_t>(at + g)] = numbers.exponent(4 + static_cast<uint64_t>(g), b, t, h);
            }
        }
    }
    const Page page = page_of(p, o, s);
    const auto put_kv = [&](Dtype dtype, Guarded<uint8_t>& to, const KvLayout& l, int64_t origin, int64_t head_stride,
                            int64_t t, int64_t h, const std::vector<float>& x) {
        for (size_t d = 0; d < x.size(); d++) {
            const int64_t at = kv_index(page, l, origin, head_stride, t, h, static_cast<int64_t>(d));
            write_element(dtype, to.data(), at, x[d]);
        }
    };
    for (int64_t t = 0; t < s.kv_len; t++) {
        const int64_t inside = p.block_size > 0 ? t % p.block_size : t;
        for (int64_t h = 0; h < c.kv_heads; h++) {
            put_kv(c.dtype, k, p.key, s.key_offset, s.key_head_stride, t, h, numbers.row(11, b, t, h, c.dim, unit));
            if (!c.is_mla()) {
                put_kv(c.dtype, v, p.value, s.value_offset, s.value_head_stride, t, h,
                       numbers.row(12, b, t, h, c.dim_v, unit));
            }
            put_kv(Dtype::bf16, kr, p.key_rope, s.key_rope_offset, s.key_rope_head_stride, t, h,
                   numbers.row(13, b, t, h, c.rope_dim, rope_unit));
            const LineScaleLayout &kl = p.full_quant.key_scale, &vl = p.full_quant.value_scale;
            const int64_t key_page = scale_page(*this, kl, s, s.key_scale_offset, t, h);
            const int64_t value_page = scale_page(*this, vl, s, s.value_scale_offset, t, h);
            if (c.is_gqa()) {
                write_element(Dtype::f32, ks.data(), key_page + scale_in_page(kl, inside, 0),
                              numbers.around(14, b, t, h, 1 / unit));
            }
            for (int64_t g = 0; c.is_mx() && g < c.dim / 32; g++) {
                ks[static_cast<size_t>(key_page + scale_in_page(kl, inside, g))] =
                    numbers.exponent(20 + static_cast<uint64_t>(g), b, t, h);
            }
            for (int64_t d = 0; c.is_mx() && t % 32 == 0 && d < c.dim_v; d++) {
                vs[static_cast<size_t>(value_page + scale_in_page(vl, d, inside / 32))] =
                    numbers.exponent(40 + static_cast<uint64_t>(d), b, t, h);
            }
        }
    }
}

inline void FullQuantCall::spoil(const FullQuantCase& c, size_t b, int64_t t) {
    const Sequence& s = p.sequences[b];
    const Page page = page_of(p, o, s);
    const int64_t inside = p.block_size > 0 ? t % p.block_size : t;
    const float nan = std::nanf("");
    for (int64_t h = 0; h < c.kv_heads; h++) {
        for (int64_t d = 0; d < c.rope_dim; d++) {
            const int64_t at = kv_index(page, p.key_rope, s.key_rope_offset, s.key_rope_head_stride, t, h, d);
            write_element(Dtype::bf16, kr.data(), at, nan);
        }
        const LineScaleLayout &kl = p.full_quant.key_scale, &vl = p.full_quant.value_scale;
        const int64_t of_key = scale_page(*this, kl, s, s.key_scale_offset, t, h) + scale_in_page(kl, inside, 0);
        const int64_t of_value = scale_page(*this, vl, s, s.value_scale_offset, t, h) +
                                 scale_in_page(vl, 1, inside / 32);
        if (c.is_gqa()) write_element(Dtype::f32, ks.data(), of_key, nan);
        if (c.is_mx()) ks[static_cast<size_t>(of_key)] = 0xff;
        if (c.is_mx() && t % 32 == 0) vs[static_cast<size_t>(of_value)] = 0xff;
        if (c.dtype == Dtype::i8) continue;
        write_element(c.dtype, k.data(), kv_index(page, p.key, s.key_offset, s.key_head_stride, t, h, 3), nan);
        if (c.is_mla()) continue;
        write_element(c.dtype, v.data(), kv_index(page, p.value, s.value_offset, s.value_head_stride, t, h, 5), nan);
    }
}

}  // namespace engine_test
