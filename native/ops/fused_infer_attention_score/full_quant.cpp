// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/full_quant.h"

#include "ops/fused_infer_attention_score/scales.h"

namespace acl_attn::ops::fia {
namespace {

using engine::LineScaleLayout;
using engine::QueryScaleLayout;
using Kind = engine::FullQuant::Kind;

Kind kind_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::none:
        case Quantisation::anti: return Kind::none;
        case Quantisation::per_tensor: return Kind::per_tensor_i8;
        case Quantisation::mla: return Kind::mla;
        case Quantisation::gqa_f8: return Kind::gqa_f8;
        case Quantisation::mx_f8: return Kind::mx_f8;
    }
    return Kind::none;
}

bool is_word(const Case& c, Input scale) { return c.extra[scale]->dtype == ACL_UINT64; }

// One scale a row: the query's own axes but for the channels.
QueryScaleLayout row_scales(const Case& c, engine::Problem& p) {
    const geometry::Strides strides =
        geometry::dense_strides(c.layout->query, {c.q.batch, c.q.tokens, c.heads, 1});
    for (int64_t b = 0; b < c.batch; ++b) {
        p.sequences[b].query_scale_offset = b * strides.batch + c.q_tokens[b].start * strides.token;
    }
    return {strides.token, c.heads / c.kv_heads * strides.head, strides.head};
}

// (T, N, pairs, 2), or (Nkv, T, G, pairs, 2).
QueryScaleLayout group_scales(const Case& c, engine::Problem& p) {
    const int64_t row = pairs(c.dim) * kHalves;
    const int64_t group = c.heads / c.kv_heads;
    const bool by_kv_head = c.extra[kDequantScaleQuery]->rank == 5;
    const int64_t token = (by_kv_head ? group : c.heads) * row;
    for (int64_t b = 0; b < c.batch; ++b) p.sequences[b].query_scale_offset = c.q_tokens[b].start * token;
    return {token, by_kv_head ? c.q.tokens * token : group * row, row};
}

LineScaleLayout paged(const meta::Tensor& scale, LineScaleLayout layout) {
    layout.block_stride = scale.stride[0];
    layout.head_stride = scale.stride[1];
    return layout;
}

LineScaleLayout lines(int64_t line, int64_t pair) {
    LineScaleLayout layout;
    layout.run_stride = line;
    layout.pair_stride = pair;
    return layout;
}

// Runs of lines, each with `count` pairs, of which every line of a run has its own.
LineScaleLayout runs(int64_t count) {
    LineScaleLayout layout;
    layout.run = kRun;
    layout.run_stride = count * kRun * kHalves;
    layout.line_stride = kHalves;
    layout.pair_stride = kRun * kHalves;
    return layout;
}

void place_paged_groups(const Case& c, engine::FullQuant& to) {
    const bool nz = c.cache == geometry::CacheOrder::nz;
    to.key_scale = paged(*c.extra[kKeyAntiquantScale],
                         nz ? runs(pairs(c.dim)) : lines(pairs(c.dim) * kHalves, kHalves));
    to.value_scale = paged(*c.extra[kValueAntiquantScale],
                           nz ? runs(pairs(c.call.block_size)) : lines(kHalves, c.dim_v * kHalves));
}

void place_packed_groups(const Case& c, engine::Problem& p, engine::FullQuant& to) {
    const int64_t key_head = pairs(c.dim) * kHalves;
    const int64_t key_token = c.kv_heads * key_head;
    const int64_t value_head = c.dim_v * kHalves;
    const int64_t value_pair = c.kv_heads * value_head;
    to.key_scale = lines(key_token, kHalves);
    to.key_scale.head_stride = key_head;
    to.value_scale = lines(kHalves, value_pair);
    to.value_scale.head_stride = value_head;
    int64_t first = 0;  // pairs begin anew with each sequence
    for (int64_t b = 0; b < c.batch; ++b) {
        p.sequences[b].key_scale_offset = c.kv_tokens[b].start * key_token;
        p.sequences[b].value_scale_offset = first * value_pair;
        first += pairs(c.kv_tokens[b].count);
    }
}

}  // namespace

void place_full_quant(const Case& c, engine::Problem& p) {
    if (!c.is_full_quant() || c.kv_is_empty) return;
    p.dtype = p.kv_dtype = engine_dtype(c.query->dtype);
    p.out_dtype = engine_dtype(c.out->dtype);
    engine::FullQuant& to = p.full_quant;
    to.kind = kind_of(c.quantisation);
    switch (to.kind) {
        case Kind::none: break;
        case Kind::per_tensor_i8:
            to.deq_scale1_is_word = is_word(c, kDeqScale1);
            to.deq_scale2_is_word = is_word(c, kDeqScale2);
            break;
        case Kind::mla: to.query_scale = row_scales(c, p); break;
        case Kind::gqa_f8:
            to.query_scale = row_scales(c, p);
            to.key_scale = paged(*c.extra[kKeyAntiquantScale], lines(1, 0));
            break;
        case Kind::mx_f8:
            to.query_scale = group_scales(c, p);
            if (c.storage == Storage::paged) {
                place_paged_groups(c, to);
            } else {
                place_packed_groups(c, p, to);
            }
            break;
    }
}

}  // namespace acl_attn::ops::fia
