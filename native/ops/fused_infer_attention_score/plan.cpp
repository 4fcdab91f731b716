// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/plan.h"

#include "geometry/mask.h"
#include "ops/fused_infer_attention_score/full_quant.h"
#include "ops/fused_infer_attention_score/scales.h"
#include "ops/fused_infer_attention_score/tree.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

int64_t origin(const geometry::Strides& strides, int64_t b, int64_t token) {
    return b * strides.batch + token * strides.token;
}

engine::RowLayout row_layout(const geometry::Strides& strides) { return {strides.token, strides.head}; }

engine::KvLayout kv_layout(const geometry::Strides& strides, int64_t dim) {
    return {strides.token, 0, dim, static_cast<int32_t>(dim)};
}

engine::KvLayout kv_layout(const geometry::CacheStrides& strides, int64_t chunk) {
    return {strides.token, strides.block, strides.chunk, static_cast<int32_t>(chunk)};
}

void place_rows(const Case& c, engine::Problem& p) {
    const geometry::Strides q = geometry::dense_strides(c.layout->query, c.q);
    const geometry::Strides out = geometry::dense_strides(c.layout->out, {c.q.batch, c.q.tokens, c.heads, c.dim_v});
    const geometry::Strides lse =
        geometry::dense_strides(geometry::lse_order(c.layout->query), {c.q.batch, c.q.tokens, c.heads, 1});
    p.query = row_layout(q);
    p.out = row_layout(out);
    p.lse = row_layout(lse);
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        const Tokens tokens = c.q_tokens[b];
        s.q_len = tokens.count;
        s.q_offset = origin(q, b, tokens.start);
        s.out_offset = origin(out, b, tokens.start);
        s.lse_offset = origin(lse, b, tokens.start);
        s.pad_after = c.is_packed() ? 0 : c.q.tokens - tokens.count;
    }
}

void place_cache(const Case& c, engine::Problem& p) {
    const geometry::CacheStrides key = geometry::cache_strides(c.cache, c.k_cache, c.key->front()->stride);
    const geometry::CacheStrides value = geometry::cache_strides(c.cache, c.v_cache, c.value->front()->stride);
    p.key = kv_layout(key, c.k_cache.chunk);
    p.value = kv_layout(value, c.v_cache.chunk);
    p.block_size = static_cast<int32_t>(c.call.block_size);
    p.block_count = c.k_cache.blocks;
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        s.table_offset = b * c.block_table->shape[1];
        s.key_head_stride = key.head;
        s.value_head_stride = value.head;
    }
}

void place_tensors(const Case& c, engine::Problem& p) {
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        const bool listed = c.storage == Storage::list;
        const int64_t member = listed ? b : 0;
        const geometry::Strides key = geometry::dense_strides(c.layout->query, c.k[member]);
        const geometry::Strides value = geometry::dense_strides(c.layout->query, c.v[member]);
        // Equal for all sequences: where members may differ in length, tokens are dim or heads * dim apart.
        p.key = kv_layout(key, c.dim);
        p.value = kv_layout(value, c.dim_v);
        s.kv_member = static_cast<int32_t>(member);
        s.key_offset = origin(key, listed ? 0 : b, c.kv_tokens[b].start);
        s.value_offset = origin(value, listed ? 0 : b, c.kv_tokens[b].start);
        s.key_head_stride = key.head;
        s.value_head_stride = value.head;
    }
}

void place_mask(const Case& c, engine::Problem& p) {
    p.has_mask = c.reads_mask();
    const geometry::MaskExtents mask =
        p.has_mask && !c.is_tree() ? geometry::mask_extents(c.mask->rank, c.mask->shape) : geometry::MaskExtents{};
    p.mask_row_stride = mask.columns;
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        s.band = geometry::visible_band(c.sparse_mode(), c.has_window(), c.pre_tokens, c.next_tokens,
                                        s.q_len, s.kv_len);
        s.mask_offset = geometry::mask_origin(mask, b);
    }
    place_tree(c, p);
}

engine::RowLayout rope_rows(const Case& c, engine::Problem& p) {
    const geometry::Strides strides = geometry::dense_strides(c.layout->query, c.q_rope);
    for (int64_t b = 0; b < c.batch; ++b) {
        p.sequences[b].query_rope_offset = origin(strides, b, c.q_tokens[b].start);
    }
    return row_layout(strides);
}

// One tensor, also where keys are a list.
engine::KvLayout rope_keys(const Case& c, engine::Problem& p) {
    const geometry::Strides strides = geometry::dense_strides(c.layout->query, c.k_rope);
    for (int64_t b = 0; b < c.batch; ++b) {
        p.sequences[b].key_rope_offset = origin(strides, b, c.kv_tokens[b].start);
        p.sequences[b].key_rope_head_stride = strides.head;
    }
    return kv_layout(strides, c.k_rope.dim);
}

engine::KvLayout rope_cache(const Case& c, engine::Problem& p) {
    const geometry::CacheStrides strides =
        geometry::cache_strides(c.cache, c.k_rope_cache, c.extra[kKeyRope]->stride);
    for (engine::Sequence& s : p.sequences) s.key_rope_head_stride = strides.head;
    return kv_layout(strides, c.k_rope_cache.chunk);
}

void place_rope(const Case& c, engine::Problem& p) {
    if (!c.has_rope()) return;
    p.rope_dim = static_cast<int32_t>(c.q_rope.dim);
    p.query_rope = rope_rows(c, p);
    p.key_rope = c.storage == Storage::paged ? rope_cache(c, p) : rope_keys(c, p);
    p.value_is_key = c.value_is_key();
    if (!p.value_is_key) return;
    p.value = p.key;  // never looked at, but never out of range either
    for (engine::Sequence& s : p.sequences) {
        s.value_offset = s.key_offset;
        s.value_head_stride = s.key_head_stride;
    }
}

void place_bias(const Case& c, engine::Problem& p) {
    const meta::Tensor* pse = c.extra[kPseShift];
    if (pse == nullptr) return;
    if (c.has_slopes()) {
        const std::vector<int64_t>* q_start = given_ints(c.call, kQStartIdx);
        const std::vector<int64_t>* kv_start = given_ints(c.call, kKvStartIdx);
        p.bias = c.call.pse_type == 2 ? engine::BiasKind::slope : engine::BiasKind::slope_sqrt;
        p.bias_distance = (kv_start == nullptr ? 0 : kv_start->front()) - (q_start == nullptr ? 0 : q_start->front());
        return;
    }
    const int64_t rows = pse->shape[2];
    const int64_t columns = pse->shape[3];
    p.bias = engine::BiasKind::tensor;
    p.bias_row_stride = rows == 1 ? 0 : columns;
    p.bias_head_stride = rows * columns;
    for (int64_t b = 0; b < c.batch; ++b) {
        p.sequences[b].bias_offset = pse->shape[0] == 1 ? 0 : b * c.heads * p.bias_head_stride;
    }
}

void place_prefix(const Case& c, engine::Problem& p) {
    if (!c.has_prefix()) return;
    const geometry::Strides key = geometry::dense_strides(c.layout->query, c.k_prefix);
    const geometry::Strides value = geometry::dense_strides(c.layout->query, c.v_prefix);
    p.prefix_len = c.prefix_len;
    p.prefix_key = kv_layout(key, c.dim);
    p.prefix_value = kv_layout(value, c.dim_v);
    p.prefix_key_head_stride = key.head;
    p.prefix_value_head_stride = value.head;
}

// Scales for each token stand in one row: the prefix's first, then the sequence's own.
engine::Dequant place_scale(const Case& c, engine::Problem& p, int64_t mode, int64_t dim, Input scale, Input offset,
                            int64_t engine::Sequence::*own, int64_t engine::Sequence::*prefix) {
    ScalePlace place;
    find_scale(c, mode, dim, *c.extra[scale], &place);
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        s.*prefix = b * place.sequence_stride;
        s.*own = s.*prefix + c.prefix_len * place.layout.token_stride;
    }
    return {true, c.extra[offset] != nullptr, place.layout};
}

void place_scales(const Case& c, engine::Problem& p) {
    using engine::Sequence;
    if (c.quantisation != Quantisation::anti || c.kv_is_empty) return;
    p.kv_dtype = engine_dtype(c.key->front()->dtype);
    p.key_dequant = place_scale(c, p, c.call.key_antiquant_mode, c.dim, kKeyAntiquantScale, kKeyAntiquantOffset,
                                &Sequence::key_scale_offset, &Sequence::prefix_key_scale_offset);
    p.value_dequant = place_scale(c, p, c.call.value_antiquant_mode, c.dim_v, kValueAntiquantScale,
                                  kValueAntiquantOffset, &Sequence::value_scale_offset,
                                  &Sequence::prefix_value_scale_offset);
}

void place_post_quant(const Case& c, engine::Problem& p) {
    if (!c.is_post_quant()) return;
    p.out_dtype = engine_dtype(c.out->dtype);
    p.post_quant.present = true;
    const meta::Tensor* scale = c.extra[kQuantScale2];
    if (scale == nullptr) return;  // no row sees a key
    p.post_quant.has_offset = c.extra[kQuantOffset2] != nullptr;
    p.post_quant.scale_dtype = engine_dtype(scale->dtype);
    p.post_quant.channel_stride = scale->numel() == 1 ? 0 : 1;
}

}  // namespace

engine::Problem make_problem(const Case& c) {
    engine::Problem p;
    p.dtype = c.query->dtype == ACL_BF16 ? engine::Dtype::bf16 : engine::Dtype::f16;
    p.kv_dtype = p.out_dtype = p.dtype;
    p.heads = static_cast<int32_t>(c.heads);
    p.kv_heads = static_cast<int32_t>(c.kv_heads);
    p.dim = static_cast<int32_t>(c.dim);
    p.dim_v = static_cast<int32_t>(c.dim_v);
    p.scale = static_cast<float>(c.call.scale_value);
    p.wants_lse = c.lse != nullptr;
    p.sequences.resize(c.batch);
    for (int64_t b = 0; b < c.batch; ++b) p.sequences[b].kv_len = c.prefix_len + c.kv_tokens[b].count;
    place_rows(c, p);
    if (c.storage == Storage::paged) {
        place_cache(c, p);
    } else {
        place_tensors(c, p);
    }
    place_mask(c, p);
    place_rope(c, p);
    place_bias(c, p);
    place_prefix(c, p);
    place_scales(c, p);
    place_post_quant(c, p);
    place_full_quant(c, p);
    p.has_sink = c.extra[kLearnableSink] != nullptr;
    return p;
}

}  // namespace acl_attn::ops::fia
