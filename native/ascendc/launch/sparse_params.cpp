// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sparse_params.h"

#include <algorithm>

#include "engine/sparse_blocks.h"

namespace acl_attn::ascendc {
namespace {

using engine::SparseOperands;
using engine::SparsePool;
using engine::SparseProblem;
using engine::SparseSequence;
using engine::SparseStream;

constexpr int64_t kDim = engine::kSparseDim;
static_assert(kDim == dim_of(TileSize::shared), "rows fill the tile");

void write_stream(int64_t* words, const SparseProblem& p, const SparsePool& pool, const SparseStream& stream,
                  const void* base) {
    const bool has_rows = pool.present && stream.len > 0;  // otherwise there may be no memory at all
    const int64_t bytes = engine::is_packed(p) ? 1 : 2;
    words[kStreamAddress] = has_rows ? static_cast<int64_t>(address(base)) + stream.offset * bytes : 0;
    words[kStreamTableOffset] = stream.table_offset;
    words[kStreamLen] = pool.present ? stream.len : 0;
}

void write_sequence(int64_t* words, const SparseProblem& p, const SparseOperands& o, const SparseSequence& s) {
    write_stream(words + kSparseOri, p, p.ori, s.ori, o.ori);
    write_stream(words + kSparseCmp, p, p.cmp, s.cmp, o.cmp);
    words[kSparseCmpShift] = s.cmp_shift;
    words[kSparseListRow] = s.list_row;
}

void write_rows(int64_t* words, const SparseSequence& s) {
    std::fill(words, words + kSequenceWords, 0);
    words[kSeqQueryOffset] = s.q_offset;
    words[kSeqOutOffset] = s.out_offset;
    words[kSeqLseOffset] = s.lse_offset;
    words[kSeqQueryLen] = s.q_len;
    words[kSeqKvLen] = s.ori.len;
    words[kSeqBandFirst] = s.ori_band.first;
    words[kSeqBandLast] = s.ori_band.last;
    words[kSeqPadAfter] = s.pad_after;
}

StreamParams stream_params(const SparsePool& pool, const int32_t* table, const int32_t* indices,
                           const int32_t* lengths) {
    StreamParams to = {};
    if (!pool.present) return to;
    to.block_table = pool.block_size > 0 ? address(table) : 0;
    to.indices = pool.topk > 0 ? address(indices) : 0;
    to.topk_length = pool.topk > 0 && pool.has_topk_length ? address(lengths) : 0;
    to.row_stride = pool.row_stride;
    to.block_stride = pool.block_stride;
    to.topk = pool.topk;
    to.block_size = pool.block_size;
    return to;
}

}  // namespace

SparseMemory divide_memory(void* memory, const SparseProblem& p, const Chip& chip) {
    const SparseScheduleBounds bounds = bounds_of(p);
    Arena arena(memory);
    SparseMemory to;
    to.rows.sequences = arena.take<int64_t>(p.max_sequences * kSequenceWords);
    to.sequences = arena.take<int64_t>(p.max_sequences * kSparseSequenceWords);
    KernelMemoryRoom room = {};
    room.items = bounds.items * kSparseItemWords;
    room.core_items = chip.cores + 1;
    room.merges = bounds.merges * kMergeWords;
    room.clears = p.max_sequences;
    room.cores = chip.cores;
    room.core_bytes = sparse_core_bytes();
    room.partial_rows = bounds.partial_rows;
    room.dim_v = kDim;
    divide_rest(to.rows, arena, room);
    return to;
}

bool fits(const SparseProblem& p, const SparseSchedule& schedule, int64_t sequences) {
    const SparseScheduleBounds bounds = bounds_of(p);
    return sequences <= p.max_sequences && schedule.item_count() <= bounds.items &&
           schedule.merge_count() <= bounds.merges && schedule.partial_rows <= bounds.partial_rows;
}

void write_plan(const SparseMemory& to, const SparseProblem& p, const SparseOperands& o,
                const SparseSequence* sequences, int64_t count, const SparseSchedule& schedule) {
    for (int64_t i = 0; i < count; ++i) {
        write_rows(to.rows.sequences + i * kSequenceWords, sequences[i]);
        write_sequence(to.sequences + i * kSparseSequenceWords, p, o, sequences[i]);
    }
    write_lists(to.rows, schedule);
}

SparseAttentionParams make_params(const SparseMemory& places, const SparseProblem& p, const SparseOperands& o,
                                  const SparseSchedule& schedule) {
    SparseAttentionParams to = {};
    FlashAttentionParams& rows = to.rows;
    rows.query = address(o.query);
    rows.sink = p.has_sink ? address(o.sinks) : 0;
    rows.out = address(o.out);
    rows.lse = p.wants_lse ? address(o.lse) : 0;
    place_memory(rows, places.rows, schedule);
    place_rows(rows, p.query, p.out, p.lse);
    rows.core_stride = sparse_core_bytes();
    rows.heads = rows.group = p.heads;
    rows.dim = rows.dim_v = engine::kSparseDim;
    rows.scale = p.scale;
    to.sequences = address(places.sequences);
    to.cmp_ratio = p.cmp_ratio;
    to.streams[kOriStream] = stream_params(p.ori, o.ori_block_table, o.ori_indices, o.ori_topk_length);
    to.streams[kCmpStream] = stream_params(p.cmp, o.cmp_block_table, o.cmp_indices, o.cmp_topk_length);
    return to;
}

}  // namespace acl_attn::ascendc
