// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/params.h"

#include <algorithm>

#include "ascendc/launch/arena.h"
#include "formats/half.h"

namespace acl_attn::ascendc {
namespace {

using engine::Operands;
using engine::Problem;
using engine::Sequence;

KvParams kv_params(const engine::KvLayout& layout, int32_t columns) {
    KvParams to = {};
    to.token_stride = layout.token_stride;
    to.block_stride = layout.block_stride;
    to.chunk_stride = layout.chunk_stride;
    to.chunk = std::min(layout.chunk, columns);
    to.columns = columns;
    return to;
}

engine::Dtype rope_dtype(const Problem& p) {
    return p.full_quant.kind == engine::FullQuant::Kind::none ? p.dtype : engine::Dtype::bf16;
}

void write_sequence(int64_t* words, const Problem& p, const Operands& o, const Sequence& s) {
    const auto kv_address = [&](const void* start, engine::Dtype dtype, int64_t offset) {
        return static_cast<int64_t>(address(start) + static_cast<uint64_t>(engine::bytes_of(dtype, offset)));
    };
    const bool has_keys = s.kv_len > p.prefix_len;  // otherwise there may be no memory at all
    words[kSeqQueryOffset] = s.q_offset;
    words[kSeqQueryRopeOffset] = s.query_rope_offset;
    words[kSeqOutOffset] = s.out_offset;
    words[kSeqLseOffset] = s.lse_offset;
    words[kSeqKeyAddress] = has_keys ? kv_address(o.key[s.kv_member], p.kv_dtype, s.key_offset) : 0;
    words[kSeqValueAddress] =
        has_keys && !p.value_is_key ? kv_address(o.value[s.kv_member], p.kv_dtype, s.value_offset) : 0;
    words[kSeqKeyRopeAddress] = p.rope_dim > 0 ? kv_address(o.key_rope, rope_dtype(p), s.key_rope_offset) : 0;
    words[kSeqKeyHeadStride] = s.key_head_stride;
    words[kSeqValueHeadStride] = s.value_head_stride;
    words[kSeqKeyRopeHeadStride] = s.key_rope_head_stride;
    words[kSeqTableOffset] = s.table_offset;
    words[kSeqQueryLen] = s.q_len;
    words[kSeqKvLen] = s.kv_len;
    words[kSeqBandFirst] = s.band.first;
    words[kSeqBandLast] = s.band.last;
    words[kSeqMaskOffset] = s.mask_offset;
    words[kSeqBiasOffset] = s.bias_offset;
    words[kSeqPadBefore] = s.pad_before;
    words[kSeqPadAfter] = s.pad_after;
    words[kSeqKeyScaleOffset] = s.key_scale_offset;
    words[kSeqValueScaleOffset] = s.value_scale_offset;
    words[kSeqPrefixKeyScaleOffset] = s.prefix_key_scale_offset;
    words[kSeqPrefixValueScaleOffset] = s.prefix_value_scale_offset;
    words[kSeqQueryScaleOffset] = s.query_scale_offset;
}

ScaleType scale_type(engine::Dtype dtype) {
    switch (dtype) {
        case engine::Dtype::f16: return ScaleType::f16;
        case engine::Dtype::bf16: return ScaleType::bf16;
        case engine::Dtype::e8m0: return ScaleType::e8m0;
        default: return ScaleType::f32;
    }
}

ScaleParams scale_params(const engine::Dequant& dequant, const void* scale, const void* offset, int32_t columns) {
    const engine::ScaleLayout& l = dequant.layout;
    ScaleParams to = {};
    to.scale = dequant.has_scale ? address(scale) : 0;
    to.offset = dequant.has_offset ? address(offset) : 0;
    to.head_stride = l.head_stride;
    to.token_stride = l.token_stride;
    to.block_stride = l.block_stride;
    to.group_stride = l.group_stride;
    to.group = l.group_stride == 0 ? columns : std::min(l.group, columns);
    to.paged = l.paged ? 1 : 0;
    to.type = scale_type(l.dtype);
    return to;
}

void place_prefix(FlashAttentionParams& to, const Problem& p, const Operands& o) {
    to.prefix_len = p.prefix_len;
    if (p.prefix_len == 0) return;
    to.key.prefix = address(o.prefix_key);
    to.key.prefix_token_stride = p.prefix_key.token_stride;
    to.key.prefix_head_stride = p.prefix_key_head_stride;
    to.value.prefix = address(o.prefix_value);
    to.value.prefix_token_stride = p.prefix_value.token_stride;
    to.value.prefix_head_stride = p.prefix_value_head_stride;
}

void place_bias(FlashAttentionParams& to, const Problem& p, const Operands& o) {
    to.bias_kind = static_cast<Bias>(p.bias);
    static_assert(static_cast<int>(Bias::slope_sqrt) == static_cast<int>(engine::BiasKind::slope_sqrt) &&
                      static_cast<int>(Bias::tensor) == static_cast<int>(engine::BiasKind::tensor),
                  "the same kinds in the same order");
    if (p.bias == engine::BiasKind::none) return;
    to.bias = p.bias == engine::BiasKind::tensor ? address(o.bias) : address(o.slopes);
    to.bias_head_stride = p.bias_head_stride;
    to.bias_row_stride = p.bias_row_stride;
    to.bias_distance = p.bias_distance;
}

void place_post_quant(FlashAttentionParams& to, const Problem& p, const Operands& o) {
    if (!p.post_quant.present) return;
    to.out_type = p.out_dtype == engine::Dtype::i8        ? OutType::i8
                  : p.out_dtype == engine::Dtype::f8_e4m3 ? OutType::f8_e4m3
                                                          : OutType::hif8;
    to.out_scale = address(o.out_scale);
    to.out_offset = p.post_quant.has_offset ? address(o.out_offset) : 0;
    to.out_scale_type = scale_type(p.post_quant.scale_dtype);
    to.out_channel_stride = static_cast<int32_t>(p.post_quant.channel_stride);
}

void place_full_quant(FlashAttentionParams& to, const Problem& p, const Operands& o) {
    const engine::FullQuant& quant = p.full_quant;
    const bool per_tensor = quant.kind == engine::FullQuant::Kind::per_tensor_i8;
    if (p.out_dtype == engine::Dtype::f16) to.out_type = OutType::f16;
    to.full_quant.query_scale = address(o.query_scale);
    to.full_quant.key_scale = address(per_tensor ? o.deq_scale1 : o.key_scale);
    to.full_quant.value_scale = address(per_tensor ? o.deq_scale2 : o.value_scale);
    to.full_quant.weight_scale = address(o.quant_scale1);
    to.full_quant.query_token_stride = quant.query_scale.token_stride;
    to.full_quant.query_kv_head_stride = quant.query_scale.kv_head_stride;
    to.full_quant.query_head_stride = quant.query_scale.head_stride;
    to.full_quant.key_head_stride = quant.key_scale.head_stride;
    to.full_quant.key_block_stride = quant.key_scale.block_stride;
    if (per_tensor) to.scale = formats::decode_f16(formats::encode_f16(p.scale));  // as that scheme multiplies by it
}

}  // namespace

KernelMemory divide_memory(void* memory, const Problem& p, const Schedule& schedule,
                           const Instantiation& instantiation) {
    Arena arena(memory);
    KernelMemory to;
    to.sequences = arena.take<int64_t>(static_cast<int64_t>(p.sequences.size()) * kSequenceWords);
    KernelMemoryRoom room = {};
    room.items = static_cast<int64_t>(schedule.items.size());
    room.core_items = static_cast<int64_t>(schedule.core_items.size());
    room.merges = static_cast<int64_t>(schedule.merges.size());
    room.clears = static_cast<int64_t>(schedule.clears.size());
    room.cores = schedule.cores;
    room.core_bytes = instantiation.bytes_of_core();
    room.partial_rows = schedule.partial_rows;
    room.dim_v = dim_v_of(instantiation.size);
    divide_rest(to, arena, room);
    return to;
}

void write_plan(const KernelMemory& to, const Problem& p, const Operands& o, const Schedule& schedule) {
    for (size_t i = 0; i < p.sequences.size(); ++i) {
        write_sequence(to.sequences + i * kSequenceWords, p, o, p.sequences[i]);
    }
    write_lists(to, schedule);
}

void place_rows(FlashAttentionParams& to, const engine::RowLayout& query, const engine::RowLayout& out,
                const engine::RowLayout& lse) {
    to.query_token_stride = query.token_stride;
    to.query_head_stride = query.head_stride;
    to.out_token_stride = out.token_stride;
    to.out_head_stride = out.head_stride;
    to.lse_token_stride = lse.token_stride;
    to.lse_head_stride = lse.head_stride;
}

FlashAttentionParams make_params(const KernelMemory& places, const Problem& p, const Operands& o,
                                 const Schedule& schedule, const Instantiation& instantiation) {
    FlashAttentionParams to = {};
    to.query = address(o.query);
    to.query_rope = p.rope_dim > 0 ? address(o.query_rope) : 0;
    to.block_table = p.block_size > 0 ? address(o.block_table) : 0;
    to.mask = p.has_mask ? address(o.mask) : 0;
    to.sink = p.has_sink ? address(o.sink) : 0;
    to.out = address(o.out);
    to.lse = p.wants_lse ? address(o.lse) : 0;
    place_memory(to, places, schedule);
    place_rows(to, p.query, p.out, p.lse);
    to.query_rope_token_stride = p.query_rope.token_stride;
    to.query_rope_head_stride = p.query_rope.head_stride;
    to.mask_row_stride = p.mask_row_stride;
    to.core_stride = instantiation.bytes_of_core();
    to.key = kv_params(p.key, p.dim);
    to.value = kv_params(p.value, p.dim_v);
    to.key_rope = kv_params(p.key_rope, p.rope_dim);
    to.key_scale = scale_params(p.key_dequant, o.key_scale, o.key_offset, p.dim);
    to.value_scale = scale_params(p.value_dequant, o.value_scale, o.value_offset, p.dim_v);
    place_prefix(to, p, o);
    place_bias(to, p, o);
    place_post_quant(to, p, o);
    to.heads = p.heads;
    to.group = p.heads / p.kv_heads;
    to.dim = p.dim;
    to.rope_dim = p.rope_dim;
    to.dim_v = p.dim_v;
    to.block_size = p.block_size;
    to.scale = p.scale;
    if (instantiation.scheme != Scheme::none) place_full_quant(to, p, o);
    return to;
}

}  // namespace acl_attn::ascendc
