// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse_blocks.h"

namespace acl_attn::engine {
namespace {

SparseView view_of(Dtype codes, const SparsePool& pool, const SparseStream& stream, const void* base,
                   const int32_t* table, const int32_t* indices, const int32_t* lengths, int64_t list_row) {
    SparseView v = {};
    v.len = stream.len;
    if (!pool.present || stream.len == 0) return v;  // nothing will be read, and there may be no memory at all
    v.rows.dtype = codes;
    v.rows.base = static_cast<const char*>(base) + bytes_of(codes, stream.offset);
    v.rows.token_stride = bytes_of(codes, pool.row_stride);
    v.rows.block_stride = bytes_of(codes, pool.block_stride);
    v.rows.block_size = pool.block_size;
    v.rows.dim = v.rows.chunk = kSparseDim;
    if (pool.block_size > 0) v.rows.table = table + stream.table_offset;
    v.end = stream.len;
    if (pool.topk == 0) return v;
    v.topk = v.end = pool.topk;
    v.indices = indices + list_row * pool.topk;
    if (pool.has_topk_length) v.topk_length = lengths + list_row;
    return v;
}

}  // namespace

Dtype type_in_rows(const SparseProblem& p) {
    switch (p.rows) {
        case SparseRows::packed_e4m3: return Dtype::f8_e4m3;
        case SparseRows::packed_hif8: return Dtype::hif8;
        default: return p.dtype;
    }
}

RowSink row_sink(const SparseProblem& p, const SparseOperands& operands, const SparseSequence& s, int64_t head) {
    RowSink sink = {};
    sink.out = static_cast<char*>(operands.out) + bytes_of(p.dtype, s.out_offset + head * p.out.head_stride);
    sink.out_token_stride = bytes_of(p.dtype, p.out.token_stride);
    sink.out_head_stride = bytes_of(p.dtype, p.out.head_stride);
    sink.out_dtype = sink.query_dtype = p.dtype;
    sink.first_head = static_cast<int32_t>(head);
    sink.sinks = p.has_sink ? operands.sinks : nullptr;
    sink.sinks_dtype = Dtype::f32;
    sink.empty_lse = 0.0f;
    if (p.wants_lse) {
        sink.lse = operands.lse + s.lse_offset + head * p.lse.head_stride;
        sink.lse_token_stride = p.lse.token_stride;
        sink.lse_head_stride = p.lse.head_stride;
    }
    return sink;
}

SparseBlock block_at(const SparseProblem& p, const SparseOperands& o, const SparseSequence& s,
                     const SparsePlace& place) {
    SparseBlock b = {};
    b.rows.query = static_cast<const uint16_t*>(o.query) + s.q_offset + place.head_begin * p.query.head_stride;
    b.rows.query_token_stride = p.query.token_stride;
    b.rows.query_head_stride = p.query.head_stride;
    b.rows.value_is_key = true;
    b.rows.row_begin = place.token_begin * place.heads;
    b.rows.row_end = place.token_end * place.heads;
    b.rows.kv_heads = 1;
    b.rows.group = place.heads;
    b.rows.dim = b.rows.dim_v = kSparseDim;
    b.rows.scale = p.scale;
    b.rows.sink = row_sink(p, o, s, place.head_begin);
    const Dtype codes = type_in_rows(p);
    b.ori = view_of(codes, p.ori, s.ori, o.ori, o.ori_block_table, o.ori_indices, o.ori_topk_length, s.list_row);
    b.cmp = view_of(codes, p.cmp, s.cmp, o.cmp, o.cmp_block_table, o.cmp_indices, o.cmp_topk_length, s.list_row);
    b.band_first = s.ori_band.first;
    b.band_last = s.ori_band.last;
    b.cmp_shift = s.cmp_shift;
    b.cmp_ratio = p.cmp_ratio;
    b.token_begin = place.token_begin;
    b.token_end = place.token_end;
    b.packed = is_packed(p);
    b.all_heads = p.heads;
    return b;
}

}  // namespace acl_attn::engine
