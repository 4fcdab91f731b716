// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/plan.h"

#include "geometry/mask.h"

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
        p.has_mask ? geometry::mask_extents(c.mask->rank, c.mask->shape) : geometry::MaskExtents{};
    p.mask_row_stride = mask.columns;
    for (int64_t b = 0; b < c.batch; ++b) {
        engine::Sequence& s = p.sequences[b];
        s.band = geometry::visible_band(c.sparse_mode(), c.mask != nullptr, c.call.pre_tokens, c.call.next_tokens,
                                        s.q_len, s.kv_len);
        s.mask_offset = geometry::mask_origin(mask, b);
    }
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
    for (int64_t b = 0; b < c.batch; ++b) p.sequences[b].kv_len = c.kv_tokens[b].count;
    place_rows(c, p);
    if (c.storage == Storage::paged) {
        place_cache(c, p);
    } else {
        place_tensors(c, p);
    }
    place_mask(c, p);
    return p;
}

}  // namespace acl_attn::ops::fia
