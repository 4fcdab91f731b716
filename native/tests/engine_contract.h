// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// attention.h taken literally: the obvious computation in double, straight from a problem's layouts and operands.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention.h"
#include "formats/e8m0.h"
#include "formats/float4.h"
#include "formats/float8.h"
#include "formats/half.h"
#include "formats/hifloat8.h"
#include "formats/int4.h"
#include "formats/int8.h"

namespace engine_test {

using namespace acl_attn::engine;
namespace fmt = acl_attn::formats;

inline float read_element(Dtype dtype, const void* base, int64_t i) {
    const uint8_t* bytes = static_cast<const uint8_t*>(base);
    switch (dtype) {
        case Dtype::f16: return fmt::decode_f16(static_cast<const uint16_t*>(base)[i]);
        case Dtype::bf16: return fmt::decode_bf16(static_cast<const uint16_t*>(base)[i]);
        case Dtype::f32: return static_cast<const float*>(base)[i];
        case Dtype::i8: return static_cast<float>(static_cast<int8_t>(bytes[i]));
        case Dtype::i4: return static_cast<float>(fmt::decode_i4(fmt::nibble_at(bytes, i)));
        case Dtype::f8_e4m3: return fmt::decode_e4m3(bytes[i]);
        case Dtype::hif8: return fmt::decode_hifloat8(bytes[i]);
        case Dtype::f4_e2m1: return fmt::decode_e2m1(fmt::nibble_at(bytes, i));
        case Dtype::e8m0: return fmt::decode_e8m0(bytes[i]);
    }
    return 0;
}

inline void write_element(Dtype dtype, void* base, int64_t i, float x) {
    uint8_t* bytes = static_cast<uint8_t*>(base);
    switch (dtype) {
        case Dtype::f16: static_cast<uint16_t*>(base)[i] = fmt::encode_f16(x); break;
        case Dtype::bf16: static_cast<uint16_t*>(base)[i] = fmt::encode_bf16(x); break;
        case Dtype::f32: static_cast<float*>(base)[i] = x; break;
        case Dtype::i8: bytes[i] = static_cast<uint8_t>(fmt::encode_i8(x)); break;
        case Dtype::i4: fmt::set_nibble(bytes, i, fmt::encode_i4(x)); break;
        case Dtype::f8_e4m3: bytes[i] = fmt::encode_e4m3(x); break;
        case Dtype::hif8: bytes[i] = fmt::encode_hifloat8(x, fmt::HiFloat8Rounding::hybrid); break;
        case Dtype::f4_e2m1: fmt::set_nibble(bytes, i, fmt::encode_e2m1(x)); break;
        case Dtype::e8m0: bytes[i] = fmt::encode_e8m0(x); break;
    }
}

// Own token t's place among the pages.
struct Page {
    bool paged;
    const int32_t* table;
    int32_t block_size;
    int64_t row(int64_t t, int64_t origin, int64_t token_stride, int64_t block_stride) const {
        if (!paged) return origin + t * token_stride;
        return table[t / block_size] * block_stride + t % block_size * token_stride;
    }
};

inline Page page_of(const Problem& p, const Operands& o, const Sequence& s) {
    return {p.block_size > 0, o.block_table + s.table_offset, p.block_size};
}

inline int64_t kv_index(const Page& page, const KvLayout& l, int64_t origin, int64_t head_stride, int64_t t, int64_t h,
                        int64_t d) {
    return page.row(t, origin, l.token_stride, l.block_stride) + h * head_stride + d / l.chunk * l.chunk_stride +
           d % l.chunk;
}

inline int64_t scale_index(const Page& page, const ScaleLayout& l, int64_t origin, int64_t t, int64_t h, int64_t d) {
    return Page{l.paged, page.table, page.block_size}.row(t, origin, l.token_stride, l.block_stride) +
           h * l.head_stride + d / l.group * l.group_stride;
}

struct ExactRow {
    std::vector<double> out;
    double lse;
};

// One operand's number of key j (prefix tokens included), KV head h, channel d.
inline double read_kv(const Problem& p, const Operands& o, const Sequence& s, bool is_key, int64_t j, int64_t h,
                      int64_t d) {
    const Page page = page_of(p, o, s);
    const Dequant& q = is_key ? p.key_dequant : p.value_dequant;
    const bool is_prefix = j < p.prefix_len;
    const int64_t own = j - p.prefix_len;
    double x;
    if (is_prefix) {
        const KvLayout& l = is_key ? p.prefix_key : p.prefix_value;
        const int64_t head_stride = is_key ? p.prefix_key_head_stride : p.prefix_value_head_stride;
        x = read_element(p.kv_dtype, is_key ? o.prefix_key : o.prefix_value,
                         kv_index({false, nullptr, 0}, l, 0, head_stride, j, h, d));
    } else if (is_key) {
        x = read_element(p.kv_dtype, o.key[s.kv_member],
                         kv_index(page, p.key, s.key_offset, s.key_head_stride, own, h, d));
    } else {
        x = read_element(p.kv_dtype, o.value[s.kv_member],
                         kv_index(page, p.value, s.value_offset, s.value_head_stride, own, h, d));
    }
    const auto number = [&](const void* from) -> double {
        if (is_prefix) {
            const int64_t origin = is_key ? s.prefix_key_scale_offset : s.prefix_value_scale_offset;
            ScaleLayout flat = q.layout;
            flat.paged = false;
            return read_element(flat.dtype, from, scale_index(page, flat, origin, j, h, d));
        }
        const int64_t origin = is_key ? s.key_scale_offset : s.value_scale_offset;
        return read_element(q.layout.dtype, from, scale_index(page, q.layout, origin, own, h, d));
    };
    if (q.has_offset) x += number(is_key ? o.key_offset : o.value_offset);
    if (q.has_scale) x *= number(is_key ? o.key_scale : o.value_scale);
    return x;
}

inline ExactRow exact_row(const Problem& p, const Operands& o, const Sequence& s, int64_t i, int64_t head) {
    const int64_t h = head / (p.heads / p.kv_heads);
    std::vector<double> score(static_cast<size_t>(s.kv_len), -INFINITY);
    double top = -INFINITY;
    bool sees_any = false;
    for (int64_t j = 0; j < s.kv_len; j++) {
        if (j < i + s.band.first || j > i + s.band.last) continue;
        if (p.has_mask && o.mask[s.mask_offset + i * p.mask_row_stride + j] != 0) continue;
        sees_any = true;
        double dot = 0;
        for (int64_t d = 0; d < p.dim; d++) {
            const int64_t at = s.q_offset + i * p.query.token_stride + head * p.query.head_stride + d;
            dot += read_kv(p, o, s, true, j, h, d) * read_element(p.dtype, o.query, at);
        }
        for (int64_t d = 0; d < p.rope_dim; d++) {
            const int64_t row = s.query_rope_offset + i * p.query_rope.token_stride;
            const int64_t at = row + head * p.query_rope.head_stride + d;
            const int64_t key =
                kv_index(page_of(p, o, s), p.key_rope, s.key_rope_offset, s.key_rope_head_stride, j, h, d);
            dot += double{read_element(p.dtype, o.query_rope, at)} * read_element(p.kv_dtype, o.key_rope, key);
        }
        double x = dot * p.scale;
        const double distance = std::fabs(static_cast<double>(j - i + p.bias_distance));
        if (p.bias == BiasKind::tensor) {
            x += read_element(p.dtype, o.bias, s.bias_offset + head * p.bias_head_stride + i * p.bias_row_stride + j);
        }
        if (p.bias == BiasKind::slope) x -= o.slopes[head] * distance;
        if (p.bias == BiasKind::slope_sqrt) x -= o.slopes[head] * std::sqrt(distance);
        score[static_cast<size_t>(j)] = x;
        top = std::max(top, x);
    }
    ExactRow row = {std::vector<double>(static_cast<size_t>(p.dim_v), 0.0), INFINITY};
    if (!sees_any) return row;
    const double sink = p.has_sink ? read_element(p.dtype, o.sink, head) : -INFINITY;
    top = std::max(top, sink);
    double sum = std::exp(sink - top);
    for (int64_t j = 0; j < s.kv_len; j++) {
        const double weight = std::exp(score[static_cast<size_t>(j)] - top);
        if (weight == 0) continue;
        sum += weight;
        for (int64_t d = 0; d < p.dim_v; d++) {
            row.out[static_cast<size_t>(d)] += weight * read_kv(p, o, s, p.value_is_key, j, h, d);
        }
    }
    for (double& x : row.out) x /= sum;
    row.lse = top + std::log(sum);
    if (!p.post_quant.present) return row;
    for (int64_t d = 0; d < p.dim_v; d++) {
        const int64_t at = p.post_quant.channel_stride == 0 ? 0 : head * p.dim_v + d;
        double& x = row.out[static_cast<size_t>(d)];
        x *= read_element(p.post_quant.scale_dtype, o.out_scale, at);
        if (p.post_quant.has_offset) x += read_element(p.post_quant.scale_dtype, o.out_offset, at);
    }
    return row;
}

}  // namespace engine_test
