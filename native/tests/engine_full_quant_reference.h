// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// engine/full_quant.h taken literally: sums in double, and only those roundings that a scheme makes.
#pragma once

#include <algorithm>

#include "engine_contract.h"
#include "formats/scale_word.h"

namespace engine_test {

using Kind = FullQuant::Kind;

// To the nearest of the numbers with `bits` bits of mantissa (the leading one included), ties to even; `lowest`: the
// exponent of the smallest step.
inline double round_mantissa(double x, int bits, int lowest) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent;
    std::frexp(x, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - bits, lowest));
    return std::nearbyint(x / step) * step;
}
inline double round_f16(double x) {
    const double y = round_mantissa(x, 11, -24);
    return std::fabs(y) > 65504 ? std::copysign(INFINITY, x) : y;
}
inline double saturate_f16(double x) { return round_f16(std::max(-65504.0, std::min(65504.0, x))); }
inline double round_e4m3(double x) { return std::max(-448.0, std::min(448.0, round_mantissa(x, 4, -9))); }
inline double round_out(Dtype dtype, double x) {
    return dtype == Dtype::f16 ? round_f16(x) : round_mantissa(x, 8, -133);
}
inline double out_step(Dtype dtype, double x) {
    int exponent;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, dtype == Dtype::f16 ? std::max(exponent - 11, -24) : exponent - 8);
}

// What the scheme rounds weights to, of exponentials that are at most 1 (or the largest weight).
inline double round_weight(Kind kind, Dtype dtype, double x) {
    if (kind != Kind::mla || dtype == Dtype::f8_e4m3) return round_e4m3(x);
    if (dtype == Dtype::hif8) return fmt::decode_hifloat8(fmt::encode_hifloat8(static_cast<float>(x)));
    return std::max(-128.0, std::min(127.0, std::nearbyint(round_f16(x))));
}

inline double read_scale_word(const void* p, bool is_word) {
    uint64_t word = 0;
    std::memcpy(&word, p, is_word ? 8 : 4);
    return fmt::float_of(static_cast<uint32_t>(word));
}

// Where a computation other than the host engine's may differ: tiles of so many keys, whose sums join unrounded.
struct FullQuantTiles {
    int64_t keys = 0;  // 0: the host engine's
};

class FullQuantRow {
public:
    FullQuantRow(const Problem& problem, const Operands& operands, const Sequence& sequence, int64_t i, int64_t head,
                 FullQuantTiles tiles = {})
        : p(problem), o(operands), s(sequence), i_(i), head_(head), h_(head / (p.heads / p.kv_heads)),
          tiles_(tiles) {}

    ExactRow compute() {
        for (int64_t j = 0; j < s.kv_len; j++) logits_.push_back(sees(j) ? logit(j) : -INFINITY);
        ExactRow row = {std::vector<double>(static_cast<size_t>(p.dim_v), 0.0), INFINITY};
        const int64_t own = kind() == Kind::per_tensor_i8 ? 1024 : kind() == Kind::mla ? 128 : 256;
        const int64_t tile = tiles_.keys > 0 ? tiles_.keys : own;
        for (int64_t j = 0; j < s.kv_len; j += tile) add_tile(j, std::min(j + tile, s.kv_len), row.out);
        if (sum_ == 0) return row;
        const double divisor = kind() == Kind::per_tensor_i8 ? round_f16(sum_) : sum_ * gain();
        for (double& x : row.out) x /= divisor;
        row.lse = top_ + std::log(sum_);
        return row;
    }

private:
    Kind kind() const { return p.full_quant.kind; }
    double gain() const {
        if (kind() != Kind::mla) return 1;
        return p.dtype == Dtype::i8 ? 127 : p.dtype == Dtype::f8_e4m3 ? 448 : 32768;
    }
    double largest_weight() const { return o.quant_scale1 == nullptr ? 1 : *static_cast<const float*>(o.quant_scale1); }

    bool sees(int64_t j) const {
        if (j < i_ + s.band.first || j > i_ + s.band.last) return false;
        return !p.has_mask || o.mask[s.mask_offset + i_ * p.mask_row_stride + j] == 0;
    }

    // Of a line in a page or sequence.
    static int64_t line_index(const LineScaleLayout& l, int64_t line, int64_t g) {
        return line / l.run * l.run_stride + line % l.run * l.line_stride + g / 2 * l.pair_stride + g % 2;
    }
    int64_t page_of_scales(const LineScaleLayout& l, int64_t origin, int64_t j, int64_t& inside) const {
        inside = p.block_size > 0 ? j % p.block_size : j;
        if (p.block_size == 0) return origin + h_ * l.head_stride;
        return o.block_table[s.table_offset + j / p.block_size] * l.block_stride + h_ * l.head_stride;
    }
    double key_scale(int64_t j, int64_t d) const {
        int64_t inside;
        const LineScaleLayout& l = p.full_quant.key_scale;
        const int64_t page = page_of_scales(l, s.key_scale_offset, j, inside);
        if (kind() == Kind::gqa_f8) return read_element(Dtype::f32, o.key_scale, page + line_index(l, inside, 0));
        return read_element(Dtype::e8m0, o.key_scale, page + line_index(l, inside, d / 32));
    }
    double value_scale(int64_t j, int64_t d) const {
        switch (kind()) {
            case Kind::mla: return read_element(Dtype::f32, o.value_scale, 0);
            case Kind::gqa_f8: return read_element(Dtype::f32, o.value_scale, h_);
            case Kind::mx_f8: {
                int64_t inside;
                const LineScaleLayout& l = p.full_quant.value_scale;
                const int64_t page = page_of_scales(l, s.value_scale_offset, j, inside);
                return read_element(Dtype::e8m0, o.value_scale, page + line_index(l, d, inside / 32));
            }
            default: return 1;
        }
    }
    double query_scale(int64_t d) const {
        const QueryScaleLayout& l = p.full_quant.query_scale;
        const int64_t group = p.heads / p.kv_heads;
        const int64_t at = s.query_scale_offset + i_ * l.token_stride + h_ * l.kv_head_stride +
                           head_ % group * l.head_stride;
        return kind() == Kind::mx_f8 ? read_element(Dtype::e8m0, o.query_scale, at + d / 32)
                                     : read_element(Dtype::f32, o.query_scale, at);
    }

    double logit(int64_t j) const {
        double dot = 0;
        for (int64_t d = 0; d < p.dim; d++) {
            const int64_t at = s.q_offset + i_ * p.query.token_stride + head_ * p.query.head_stride + d;
            double product = read_element(p.dtype, o.query, at) * read_kv(p, o, s, true, j, h_, d);
            if (kind() == Kind::mx_f8) product *= query_scale(d) * key_scale(j, d);
            dot += product;
        }
        for (int64_t d = 0; d < p.rope_dim; d++) {
            const int64_t at = s.query_rope_offset + i_ * p.query_rope.token_stride +
                               head_ * p.query_rope.head_stride + d;
            const int64_t key = kv_index(page_of(p, o, s), p.key_rope, s.key_rope_offset, s.key_rope_head_stride, j,
                                         h_, d);
            dot += double{read_element(Dtype::bf16, o.query_rope, at)} * read_element(Dtype::bf16, o.key_rope, key);
        }
        if (kind() == Kind::mla) {
            return dot * query_scale(0) * (double{p.scale} * read_element(Dtype::f32, o.key_scale, 0));
        }
        if (kind() == Kind::gqa_f8) return dot * query_scale(0) * p.scale * key_scale(j, 0);
        if (kind() == Kind::mx_f8) return dot * p.scale;
        const float word = static_cast<float>(read_scale_word(o.deq_scale1, p.full_quant.deq_scale1_is_word));
        const float product = static_cast<float>(dot) * fmt::truncate_fp19(word);
        double x = round_f16(saturate_f16(product) * round_f16(p.scale));
        if (p.bias != BiasKind::none) {
            x = round_f16(x + read_element(Dtype::f16, o.bias, s.bias_offset + head_ * p.bias_head_stride +
                                                                   i_ * p.bias_row_stride + j));
        }
        return x;
    }

    void add_tile(int64_t begin, int64_t end, std::vector<double>& mixed) {
        double own = -INFINITY;
        for (int64_t j = begin; j < end; j++) own = std::max(own, logits_[static_cast<size_t>(j)]);
        if (own == -INFINITY) return;
        double shift = 0;
        if (kind() == Kind::gqa_f8) own -= std::log(largest_weight());
        if (kind() == Kind::mx_f8) {
            own = std::ceil(static_cast<float>(own) * 1.44269502f) * 0.693147182f;
            shift = std::log(largest_weight());
        }
        const bool is_first = top_ == -INFINITY;
        const double now = std::max(top_, own);
        const double kept = std::exp(top_ - now);
        const double factor = kind() != Kind::mla || is_first ? 1 : std::exp(own - now) + 0x1p-52;
        sum_ *= kept;
        std::vector<double> sums(mixed.size(), 0.0);
        for (int64_t j = begin; j < end; j++) {
            const double x = logits_[static_cast<size_t>(j)];
            if (x == -INFINITY) continue;
            const double e = std::exp(x - now + shift);
            sum_ += e;
            double weight;
            if (kind() == Kind::per_tensor_i8) {
                weight = std::nearbyint(round_f16(round_f16(e) * round_f16(largest_weight())));
                weight = std::max(-128.0, std::min(127.0, weight));
            } else {
                weight = round_weight(kind(), p.dtype, e / factor * gain());
            }
            for (size_t d = 0; d < sums.size(); d++) {
                const int64_t channel = static_cast<int64_t>(d);
                sums[d] += weight * (read_kv(p, o, s, p.value_is_key, j, h_, channel) * value_scale(j, channel));
            }
        }
        for (size_t d = 0; d < sums.size(); d++) {
            double sum = sums[d] * factor;
            if (kind() == Kind::per_tensor_i8) {
                sum *= read_scale_word(o.deq_scale2, p.full_quant.deq_scale2_is_word);
                if (begin > 0 && tiles_.keys == 0) sum = saturate_f16(sum);
            }
            mixed[d] = mixed[d] * kept + sum;
        }
        top_ = now;
    }

    const Problem& p;
    const Operands& o;
    const Sequence& s;
    const int64_t i_, head_, h_;
    const FullQuantTiles tiles_;
    std::vector<double> logits_;
    double top_ = -INFINITY, sum_ = 0;
};

}  // namespace engine_test
