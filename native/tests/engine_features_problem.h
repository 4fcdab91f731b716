// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every feature beyond plain attention, alone and combined, as problems in several storages.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine_contract.h"
#include "engine_problem.h"

namespace engine_test {

// How the scales of quantised keys and values are shared.
enum class Scales { none, tensor, channel, token, token_head, token_group, token_paged, token_head_paged };

struct Features {
    const char* name = "";
    Dtype dtype = Dtype::bf16, kv_dtype = Dtype::bf16, out_dtype = Dtype::bf16;
    int32_t heads = 4, kv_heads = 2, dim = 32, dim_v = 32, rope_dim = 0;
    bool value_is_key = false;
    BiasKind bias = BiasKind::none;
    bool bias_row_shared = false;
    bool has_sink = false;
    int64_t prefix_len = 0;
    Scales scales = Scales::none;
    Dtype scale_dtype = Dtype::f32;
    bool has_offset = false;
    bool are_some_negative = false;  // scales
    bool has_mask = false;
    bool per_channel_out = false;
    bool has_out_offset = false;
    std::vector<SequenceSpec> sequences = {{1, 70}, {7, 90}, {20, 600}, {3, 0}};
};

// A buffer of bytes that are NaN in the wide formats wherever nothing was put.
struct Buffer {
    std::vector<uint8_t> bytes;
    void assign(Dtype dtype, int64_t elements) {
        bytes.assign(static_cast<size_t>(bytes_of(dtype, elements + elements % 2)), 0xff);
    }
    void* data() { return bytes.data(); }
};

struct Call {
    Problem p;
    Operands o;
    Buffer q, k, v, qr, kr, pk, pv, bias, sink, ks, ko, vs, vo, out, os, oo;
    std::vector<float> lse, slopes;
    std::vector<uint8_t> mask;
    std::vector<int32_t> table;
    const void *key_member = nullptr, *value_member = nullptr;

    Call(const Features& f, Storage storage);
    Call(const Call&) = delete;
    MemoryRanges ranges() const;
};

inline MemoryRanges Call::ranges() const {
    MemoryRanges all = {{lse.data(), lse.size() * sizeof(float), "lse", true},
                        {out.bytes.data(), out.bytes.size(), "out", true},
                        {slopes.data(), slopes.size() * sizeof(float), "slopes", false},
                        {mask.data(), mask.size(), "mask", false},
                        {table.data(), table.size() * sizeof(int32_t), "block table", false}};
    for (const Buffer* one : {&q, &k, &v, &qr, &kr, &pk, &pv, &bias, &sink, &ks, &ko, &vs, &vo, &os, &oo}) {
        all.push_back({one->bytes.data(), one->bytes.size(), "an input", false});
    }
    return all;
}

struct Kv {
    CacheLayout layout;
    int64_t size;
};

inline Kv kv_layout(const Features& f, Storage storage, int64_t dim, int64_t keys, int64_t blocks) {
    Spec spec;
    spec.storage = storage;
    spec.kv_heads = f.kv_heads;
    const CacheLayout l = cache_layout(spec, static_cast<int32_t>(dim));
    return {l, storage == Storage::contiguous ? keys * l.token_stride : blocks * l.block_stride};
}

// About 1 in the end, whatever the stored type.
inline float stored_scale(Dtype dtype) {
    return dtype == Dtype::i8 ? 0.02f : dtype == Dtype::i4 ? 0.25f : dtype == Dtype::f4_e2m1 ? 0.5f : 1.0f;
}

inline Call::Call(const Features& f, Storage storage) {
    p.dtype = f.dtype;
    p.kv_dtype = f.kv_dtype;
    p.out_dtype = f.out_dtype;
    p.heads = f.heads;
    p.kv_heads = f.kv_heads;
    p.dim = f.dim;
    p.dim_v = f.dim_v;
    p.rope_dim = f.rope_dim;
    p.scale = 1.0f / std::sqrt(static_cast<float>(f.dim + f.rope_dim));
    p.wants_lse = true;
    p.value_is_key = f.value_is_key;
    p.prefix_len = f.prefix_len;
    int64_t rows = 0, keys = 0, blocks = 0, widest = 0, scale_tokens = f.prefix_len;
    const int32_t bs = 16;
    for (const SequenceSpec& s : f.sequences) {
        rows += s.q_len;
        keys += s.kv_len;
        blocks += (s.kv_len + bs - 1) / bs;
        widest = std::max(widest, s.kv_len + f.prefix_len);
        scale_tokens = std::max(scale_tokens, s.kv_len + f.prefix_len);
    }
    const bool paged = storage != Storage::contiguous;
    const int64_t batch = static_cast<int64_t>(f.sequences.size());
    const int64_t columns = (widest + bs - 1) / bs;
    if (paged) {
        p.block_size = bs;
        p.block_count = blocks;
        table.assign(static_cast<size_t>(columns * batch), -1);
    }
    p.query = {f.heads * f.dim, f.dim};
    p.query_rope = {f.heads * f.rope_dim, f.rope_dim};
    p.out = {f.heads * f.dim_v, f.dim_v};
    p.lse = {f.heads, 1};
    const Kv key = kv_layout(f, storage, f.dim, keys, blocks), value = kv_layout(f, storage, f.dim_v, keys, blocks);
    const Kv rope = kv_layout(f, storage, f.rope_dim, keys, blocks);
    p.key = key.layout;
    if (!f.value_is_key) p.value = value.layout;
    p.key_rope = rope.layout;
    p.prefix_key = {f.kv_heads * f.dim, 0, 0, f.dim};
    p.prefix_value = {f.kv_heads * f.dim_v, 0, 0, f.dim_v};
    p.prefix_key_head_stride = f.dim;
    p.prefix_value_head_stride = f.dim_v;

    q.assign(f.dtype, rows * f.heads * f.dim);
    qr.assign(f.dtype, rows * f.heads * f.rope_dim);
    k.assign(f.kv_dtype, key.size);
    v.assign(f.kv_dtype, value.size);
    kr.assign(f.kv_dtype, rope.size);
    out.assign(f.out_dtype, rows * f.heads * f.dim_v);
    lse.assign(static_cast<size_t>(rows * f.heads), -1.0f);

    o.query = q.data();
    o.query_rope = qr.data();
    o.key_rope = kr.data();
    key_member = k.data();
    value_member = v.data();
    o.key = &key_member;
    o.value = f.value_is_key ? nullptr : &value_member;
    o.out = out.data();
    o.lse = lse.data();

    Random random(77);
    const auto fill = [&](Buffer& buffer, Dtype dtype, int64_t n, float size) {
        buffer.assign(dtype, n);
        for (int64_t i = 0; i < n; i++) {
            write_element(dtype, buffer.data(), i, size * static_cast<float>(random.normal()));
        }
    };
    const auto fill_positive = [&](Buffer& buffer, Dtype dtype, int64_t n, float size) {
        buffer.assign(dtype, n);
        for (int64_t i = 0; i < n; i++) {
            write_element(dtype, buffer.data(), i, size * static_cast<float>(0.5 + random.uniform()));
        }
    };
    fill(q, f.dtype, rows * f.heads * f.dim, 1);
    fill(qr, f.dtype, rows * f.heads * f.rope_dim, 1);
    o.query = q.data();
    o.query_rope = qr.data();
    const float unit = 1 / stored_scale(f.kv_dtype);
    fill(pk, f.kv_dtype, f.prefix_len * f.kv_heads * f.dim, unit);
    fill(pv, f.kv_dtype, f.prefix_len * f.kv_heads * f.dim_v, unit);
    o.prefix_key = pk.data();
    o.prefix_value = pv.data();

    if (f.bias == BiasKind::tensor) {
        p.bias_row_stride = f.bias_row_shared ? 0 : widest;
        int64_t longest = 1;
        for (const SequenceSpec& s : f.sequences) longest = std::max(longest, s.q_len);
        p.bias_head_stride = f.bias_row_shared ? widest : longest * widest;
        fill(bias, f.dtype, batch * f.heads * p.bias_head_stride, 1);
        o.bias = bias.data();
    }
    p.bias = f.bias;
    p.bias_distance = f.bias == BiasKind::none ? 0 : 5;
    for (int32_t h = 0; h < f.heads; h++) slopes.push_back(0.05f * static_cast<float>(h + 1));
    o.slopes = slopes.data();
    p.has_sink = f.has_sink;
    fill(sink, f.dtype, f.heads, 3);
    o.sink = sink.data();

    int64_t key_scale_row = 0, value_scale_row = 0;  // elements of a sequence
    const auto lay_scales = [&](Dequant& d, int64_t dim, int64_t& sequence_size) -> int64_t {
        ScaleLayout& l = d.layout;
        d.has_scale = f.scales != Scales::none;
        d.has_offset = d.has_scale && f.has_offset;
        l.dtype = f.scale_dtype;
        l.group = static_cast<int32_t>(dim);
        const int64_t s = scale_tokens, h = f.kv_heads;
        switch (f.scales) {
            case Scales::none: return 0;
            case Scales::tensor: return 1;
            case Scales::channel:
                l.head_stride = dim;
                l.group = 1;
                l.group_stride = 1;
                return h * dim;
            case Scales::token: l.token_stride = 1; sequence_size = s; break;
            case Scales::token_head: l.token_stride = 1; l.head_stride = s; sequence_size = h * s; break;
            case Scales::token_group:
                l.group = 32;
                l.group_stride = 1;
                l.token_stride = (dim + 31) / 32;
                l.head_stride = s * l.token_stride;
                sequence_size = h * l.head_stride;
                break;
            case Scales::token_paged:
            case Scales::token_head_paged:
                l.paged = true;
                l.token_stride = 1;
                l.head_stride = f.scales == Scales::token_paged ? 0 : bs;
                l.block_stride = f.scales == Scales::token_paged ? bs : h * bs;
                return blocks * l.block_stride;
        }
        return batch * sequence_size;
    };
    const int64_t key_scales = lay_scales(p.key_dequant, f.dim, key_scale_row);
    const int64_t value_scales = lay_scales(p.value_dequant, f.dim_v, value_scale_row);
    fill_positive(ks, f.scale_dtype, key_scales, stored_scale(f.kv_dtype));
    fill_positive(vs, f.scale_dtype, value_scales, stored_scale(f.kv_dtype));
    for (int64_t i = 0; f.are_some_negative && i < value_scales; i += 3) {
        write_element(f.scale_dtype, vs.data(), i, -read_element(f.scale_dtype, vs.data(), i));
    }
    fill(ko, f.scale_dtype, f.has_offset ? key_scales : 0, unit * 0.3f);
    fill(vo, f.scale_dtype, f.has_offset ? value_scales : 0, unit * 0.3f);
    o.key_scale = ks.data();
    o.value_scale = vs.data();
    o.key_offset = ko.data();
    o.value_offset = vo.data();

    p.post_quant.present = f.out_dtype != f.dtype;
    p.post_quant.has_offset = f.has_out_offset;
    p.post_quant.channel_stride = f.per_channel_out ? 1 : 0;
    p.post_quant.scale_dtype = f.per_channel_out ? Dtype::bf16 : Dtype::f32;
    const int64_t out_scales = f.per_channel_out ? f.heads * f.dim_v : 1;
    fill_positive(os, p.post_quant.scale_dtype, out_scales, f.out_dtype == Dtype::i8 ? 100 : 3);
    fill(oo, p.post_quant.scale_dtype, out_scales, 2);
    o.out_scale = os.data();
    o.out_offset = oo.data();

    if (f.has_mask) {
        p.has_mask = true;
        p.mask_row_stride = widest;
        mask.resize(static_cast<size_t>(rows * widest));
        for (uint8_t& m : mask) m = random.below(3) == 0;
        o.mask = mask.data();
    }

    int64_t row = 0, first_key = 0, block = blocks;
    for (int64_t b = 0; b < batch; b++) {
        const SequenceSpec& from = f.sequences[static_cast<size_t>(b)];
        Sequence s;
        s.q_len = from.q_len;
        s.kv_len = from.kv_len + f.prefix_len;
        s.band = from.band;
        s.q_offset = row * p.query.token_stride;
        s.query_rope_offset = row * p.query_rope.token_stride;
        s.out_offset = row * p.out.token_stride;
        s.lse_offset = row * p.lse.token_stride;
        s.mask_offset = row * widest;
        s.bias_offset = b * f.heads * p.bias_head_stride;
        row += s.q_len;
        s.key_head_stride = key.layout.head_stride;
        s.value_head_stride = value.layout.head_stride;
        s.key_rope_head_stride = rope.layout.head_stride;
        // Prefix tokens first, then the sequence's own.
        const bool by_token = !p.key_dequant.layout.paged;
        s.prefix_key_scale_offset = b * key_scale_row;
        s.prefix_value_scale_offset = b * value_scale_row;
        s.key_scale_offset = by_token ? b * key_scale_row + f.prefix_len * p.key_dequant.layout.token_stride : 0;
        s.value_scale_offset = by_token ? b * value_scale_row + f.prefix_len * p.value_dequant.layout.token_stride : 0;
        if (paged) {
            s.table_offset = b * columns;
            for (int64_t c = 0; c * bs < from.kv_len; c++) {
                table[static_cast<size_t>(s.table_offset + c)] = static_cast<int32_t>(--block);
            }
        } else {
            s.key_offset = first_key * key.layout.token_stride;
            s.value_offset = first_key * value.layout.token_stride;
            s.key_rope_offset = first_key * rope.layout.token_stride;
            first_key += from.kv_len;
        }
        o.block_table = table.data();
        const Page page = page_of(p, o, s);
        for (int64_t t = 0; t < from.kv_len; t++) {
            for (int64_t h = 0; h < f.kv_heads; h++) {
                const auto put = [&](Buffer& to, const CacheLayout& l, int64_t offset, int64_t dim, Dtype dtype) {
                    for (int64_t d = 0; d < dim; d++) {
                        write_element(dtype, to.data(), kv_index(page, l, offset, l.head_stride, t, h, d),
                                      unit * static_cast<float>(random.normal()));
                    }
                };
                put(k, key.layout, s.key_offset, f.dim, f.kv_dtype);
                put(v, value.layout, s.value_offset, f.dim_v, f.kv_dtype);
                if (f.rope_dim > 0) put(kr, rope.layout, s.key_rope_offset, f.rope_dim, f.dtype);
            }
        }
        p.sequences.push_back(s);
    }
}

inline Features with(const char* name, Features f) {
    f.name = name;
    return f;
}

inline std::vector<Features> cases() {
    std::vector<Features> all;
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
        Features base;
        base.dtype = base.kv_dtype = base.out_dtype = dtype;
        const auto add = [&](const char* name, auto change) {
            Features f = base;
            change(f);
            all.push_back(with(name, f));
        };
        add("plain", [](Features&) {});
        add("rope", [](Features& f) { f.rope_dim = 16; });
        add("rope after an odd number of channels", [](Features& f) { f.dim = 26, f.rope_dim = 10; });
        add("value is key", [](Features& f) { f.value_is_key = true; });
        add("latent attention", [](Features& f) {
            f.dim = f.dim_v = 512, f.rope_dim = 64, f.value_is_key = true, f.kv_heads = 1, f.heads = 12;
            f.sequences = {{1, 300}, {2, 40}};
        });
        // Row counts around those that change the kernel.
        const std::vector<SequenceSpec> few = {{7, 90},   {8, 90},   {13, 300}, {16, 140, {kOpenFirst, 120}},
                                               {17, 260}, {32, 129}, {33, 300}, {63, 90},
                                               {64, 300, {-200, 230}}, {65, 300}};
        add("few rows", [&](Features& f) {
            f.heads = 3, f.kv_heads = 3, f.dim = 192, f.dim_v = 128, f.sequences = few;
        });
        add("few rows, prefix, sink", [&](Features& f) {
            f.heads = 2, f.dim = 64, f.dim_v = 80, f.prefix_len = 37, f.has_sink = true, f.sequences = few;
        });
        add("few rows, rope, mask", [&](Features& f) {
            f.heads = 2, f.dim = 64, f.rope_dim = 32, f.has_mask = true, f.sequences = few;
        });
        add("few rows, bias", [&](Features& f) {
            f.heads = 2, f.dim = f.dim_v = 256, f.bias = BiasKind::tensor, f.sequences = few;
        });
        add("few rows, slope, value is key", [&](Features& f) {
            f.heads = 2, f.dim = 96, f.value_is_key = true, f.bias = BiasKind::slope, f.sequences = few;
        });
        add("bias", [](Features& f) { f.bias = BiasKind::tensor; });
        add("bias, one row, mask", [](Features& f) {
            f.bias = BiasKind::tensor, f.bias_row_shared = f.has_mask = true;
        });
        add("bias, band", [](Features& f) {
            f.bias = BiasKind::tensor, f.sequences = {{1, 70, {3, 33}}, {9, 90, {-3, 20}}, {30, 600, {101, 300}}};
        });
        add("slope", [](Features& f) { f.bias = BiasKind::slope; });
        add("slope of the root", [](Features& f) { f.bias = BiasKind::slope_sqrt; });
        add("sink", [](Features& f) { f.has_sink = true; });
        add("sink, rows without keys", [](Features& f) {
            f.has_sink = f.has_mask = true, f.sequences = {{30, 20, {kOpenFirst, -10}}, {2, 700}, {4, 0}};
        });
        add("prefix", [](Features& f) { f.prefix_len = 37; });
        add("prefix, band, bias", [](Features& f) {
            f.prefix_len = 300, f.bias = BiasKind::tensor, f.sequences = {{5, 5, {kOpenFirst, 300}}, {40, 0}};
        });
        for (const Dtype out : {Dtype::i8, Dtype::f8_e4m3, Dtype::hif8}) {
            add("post-quantised", [&](Features& f) { f.out_dtype = out; });
            add("post-quantised by channel", [&](Features& f) {
                f.out_dtype = out, f.per_channel_out = true, f.has_out_offset = true;
                f.sequences = {{30, 20, {kOpenFirst, -10}}, {2, 700}, {4, 0}};
            });
        }
        for (const Dtype stored : {Dtype::i8, Dtype::i4, Dtype::f8_e4m3, Dtype::hif8, Dtype::f4_e2m1}) {
            const auto add_stored = [&](const char* name, Scales scales, Dtype scale_dtype, bool has_offset) {
                add(name, [&](Features& f) {
                    f.kv_dtype = stored, f.scales = scales, f.scale_dtype = scale_dtype, f.has_offset = has_offset;
                });
            };
            add_stored("by tensor", Scales::tensor, dtype, false);
            add_stored("by channel", Scales::channel, dtype, true);
            add_stored("by token", Scales::token, Dtype::f32, true);
            add_stored("by token and head", Scales::token_head, Dtype::f32, false);
            add_stored("by group", Scales::token_group, Dtype::e8m0, false);
            add_stored("by token, paged", Scales::token_paged, Dtype::f32, false);
            add_stored("by token and head, paged", Scales::token_head_paged, Dtype::f32, true);
            add("by token, some negative", [&](Features& f) {
                f.kv_dtype = stored, f.scales = Scales::token, f.are_some_negative = true;
            });
            add("by token, prefix", [&](Features& f) {
                f.kv_dtype = stored, f.scales = Scales::token, f.prefix_len = 21, f.has_mask = true;
            });
        }
        add("wide heads, quantised", [](Features& f) {
            f.kv_dtype = Dtype::i8, f.scales = Scales::channel, f.dim = 72, f.dim_v = 40, f.bias = BiasKind::tensor;
        });
    }
    return all;
}

}  // namespace engine_test
