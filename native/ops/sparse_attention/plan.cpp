// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/plan.h"

#include <algorithm>

#include "ops/saturating.h"
#include "ops/sparse_attention/visibility.h"
#include "runtime/text.h"

namespace acl_attn::ops::sparse {
namespace {

engine::SparseRows rows_of(const Case& c) {
    switch (c.ori.tensor->dtype) {
        case ACL_FLOAT16: return engine::SparseRows::f16;
        case ACL_BF16: return engine::SparseRows::bf16;
        case ACL_HIFLOAT8: return engine::SparseRows::packed_hif8;
        default: return engine::SparseRows::packed_e4m3;
    }
}

// Rows that one token can see without a list. A band with both ends has so many; anything else, what there is room for.
int64_t most_original(const Case& c) {
    const int64_t all = c.layout_kv == Layout::tnd ? extent(c.ori.tensor, 0) : c.room(c.ori);
    if (c.call.ori_mask_mode != kBandMask || c.call.ori_win_left < 0 || c.call.ori_win_right < 0) return all;
    return std::min(all, saturating_sum(saturating_sum(c.call.ori_win_left, c.call.ori_win_right), 1));
}

int64_t most_compressed(const Case& c) {
    return c.layout_kv == Layout::tnd ? extent(c.cmp.tensor, 0) : c.room(c.cmp);
}

engine::SparsePool pool_of(const Case& c, const Rows& rows, int64_t most) {
    engine::SparsePool pool;
    pool.present = true;
    const meta::Tensor& tensor = *rows.tensor;
    pool.row_stride = tensor.stride[c.layout_kv == Layout::tnd ? 0 : 1];
    if (c.is_paged()) {
        pool.block_stride = tensor.stride[0];
        pool.block_size = static_cast<int32_t>(tensor.shape[1]);
        pool.block_count = tensor.shape[0];
    }
    pool.topk = rows.topk();
    pool.has_topk_length = rows.topk_length != nullptr;
    pool.max_seen = pool.topk > 0 ? std::min(pool.topk, most) : most;
    return pool;
}

// Of q or attnOut, whose innermost axis alone must be dense.
engine::RowLayout row_layout(const meta::Tensor& tensor) {
    return {tensor.stride[tensor.rank - 3], tensor.stride[tensor.rank - 2]};
}

engine::SparseProblem problem_of(const Case& c) {
    engine::SparseProblem p;
    p.dtype = c.q->dtype == ACL_FLOAT16 ? engine::Dtype::f16 : engine::Dtype::bf16;
    p.rows = rows_of(c);
    p.heads = static_cast<int32_t>(c.heads);
    p.scale = static_cast<float>(c.call.softmax_scale);
    p.query = row_layout(*c.q);
    p.out = row_layout(*c.out);
    p.lse = {c.heads, 1};
    p.ori = pool_of(c, c.ori, most_original(c));
    if (c.has_cmp()) p.cmp = pool_of(c, c.cmp, most_compressed(c));
    p.cmp_ratio = c.call.cmp_ratio;
    p.has_sink = true;
    p.wants_lse = c.lse != nullptr;
    p.max_sequences = c.batch;
    p.max_tokens = c.tokens;
    return p;
}

LengthSource query_source(const Case& c) {
    LengthSource source;
    source.present = true;
    source.extent_name = c.name(kQ);
    source.extent = extent(c.q, 1);
    source.tokens = c.tokens;
    return source;
}

LengthSource row_source(const Case& c, const Rows& rows, Input totals, Input used) {
    LengthSource source;
    source.present = rows.tensor != nullptr;
    source.totals_name = totals;
    source.used_name = used;
    if (!source.present) return source;
    source.extent_name = c.name(c.is_paged() ? rows.table_name : rows.name);
    source.extent = c.layout_kv == Layout::tnd ? 0 : std::min(c.room(rows), kUnknownLength);
    source.tokens = extent(rows.tensor, 0);
    return source;
}

LengthSources sources_of(const Case& c) {
    LengthSources sources;
    sources.op = c.op();
    sources.rules = c.is_quantised() ? LengthRules{"KVQ-050", "KVQ-045", "KVQ-050"}
                                     : LengthRules{"SMLA-070", "SMLA-071", "SMLA-072"};
    sources.batch = c.batch;
    sources.q = query_source(c);
    sources.ori = row_source(c, c.ori, kCuSeqlensOriKv, kSequsedOriKv);
    sources.cmp = row_source(c, c.cmp, kCuSeqlensCmpKv, kSequsedCmpKv);
    sources.cmp_ratio = c.call.cmp_ratio;
    sources.cmp_follows_ori = c.is_quantised();
    return sources;
}

TaskRules tasks_of(const Case& c, const PlanningDevice& device) {
    TaskRules r;
    r.heads = c.heads;
    r.blocking = blocking_of(c.op(), device.family, c.heads, c.ori.topk() > 0 || c.cmp.topk() > 0);
    r.cores = device.cores;
    r.has_ori = true;
    r.has_cmp = c.has_cmp();
    r.ori_topk = c.ori.topk();
    r.cmp_topk = c.cmp.topk();
    r.cmp_ratio = c.call.cmp_ratio;
    r.ori_mask_mode = c.call.ori_mask_mode;
    r.cmp_mask_mode = c.call.cmp_mask_mode;
    r.win_left = c.call.ori_win_left;
    r.win_right = c.call.ori_win_right;
    r.cmp_follows_ori = c.is_quantised();
    r.is_batch_consistent = device.is_batch_consistent && !c.is_quantised();
    return r;
}

engine::SparseStream place_stream(const engine::SparsePool& pool, const Segment& segment, int64_t sequence,
                                  int64_t batch_stride, int64_t table_columns) {
    engine::SparseStream stream;
    stream.len = segment.used;
    if (pool.block_size > 0) {
        stream.table_offset = sequence * table_columns;
    } else {
        stream.offset = sequence * batch_stride + segment.first * pool.row_stride;
    }
    return stream;
}

// Of token 0 among all rows that q stores.
int64_t first_row(const Segment& q, Layout layout_q, int64_t sequence) {
    return layout_q == Layout::tnd ? q.first : sequence * q.stored;
}

}  // namespace

std::shared_ptr<Planned> make_plan(const Case& c, const PlanningDevice& device) {
    auto planned = std::make_shared<Planned>();
    planned->op = c.op();
    planned->layout_q = c.layout_q;
    planned->layout_kv = c.layout_kv;
    planned->problem = problem_of(c);
    planned->lengths = sources_of(c);
    planned->tasks = tasks_of(c, device);
    planned->follows_tasks = device.is_chip;
    if (!c.is_packed_q()) {
        planned->q_batch_stride = c.q->stride[0];
        planned->out_batch_stride = c.out->stride[0];
    }
    if (c.layout_kv == Layout::bsnd) {
        planned->ori_batch_stride = c.ori.tensor->stride[0];
        if (c.has_cmp()) planned->cmp_batch_stride = c.cmp.tensor->stride[0];
    }
    planned->ori_table_columns = extent(c.ori.table, 1);
    planned->cmp_table_columns = extent(c.cmp.table, 1);
    return planned;
}

std::vector<engine::SparseSequence> place_sequences(const Planned& planned,
                                                    const std::vector<SequenceLengths>& lengths) {
    const engine::SparseProblem& p = planned.problem;
    const TaskRules& r = planned.tasks;
    std::vector<engine::SparseSequence> sequences(lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
        const SequenceLengths& of = lengths[i];
        const int64_t b = static_cast<int64_t>(i);
        const int64_t row = first_row(of.q, planned.layout_q, b);
        const bool is_packed = planned.layout_q == Layout::tnd;
        engine::SparseSequence& s = sequences[i];
        s.q_len = of.q.used;
        s.pad_after = of.q.stored - of.q.used;
        s.q_offset = is_packed ? row * p.query.token_stride : b * planned.q_batch_stride;
        s.out_offset = is_packed ? row * p.out.token_stride : b * planned.out_batch_stride;
        s.lse_offset = row * p.lse.token_stride;
        s.list_row = row;
        s.ori = place_stream(p.ori, of.ori, b, planned.ori_batch_stride, planned.ori_table_columns);
        s.ori_band = original_band(r.ori_mask_mode, r.win_left, r.win_right, of.q.used, of.ori.used);
        if (!p.cmp.present) continue;
        s.cmp = place_stream(p.cmp, of.cmp, b, planned.cmp_batch_stride, planned.cmp_table_columns);
        const int64_t stands_for = r.cmp_follows_ori ? of.ori.used : of.stands_for(r.cmp_ratio);
        if (r.cmp_mask_mode != kNoMask) s.cmp_shift = compressed_shift(stands_for, of.q.used);
    }
    return sequences;
}

TaskSequence task_sequence(const SequenceLengths& lengths, Layout layout_q, int64_t sequence, const int32_t* ori_topk,
                           const int32_t* cmp_topk) {
    const int64_t row = first_row(lengths.q, layout_q, sequence);
    return {lengths.q.used,
            lengths.ori.used,
            lengths.cmp.used,
            lengths.residual,
            ori_topk == nullptr ? nullptr : ori_topk + row,
            cmp_topk == nullptr ? nullptr : cmp_topk + row};
}

std::vector<TaskSequence> task_sequences(const Planned& planned, const std::vector<SequenceLengths>& lengths,
                                         const int32_t* ori_topk, const int32_t* cmp_topk) {
    std::vector<TaskSequence> sequences;
    for (size_t b = 0; b < lengths.size(); ++b) {
        sequences.push_back(task_sequence(lengths[b], planned.layout_q, static_cast<int64_t>(b), ori_topk, cmp_topk));
    }
    return sequences;
}

std::string describe(const Planned& planned) {
    if (planned.attention == nullptr) return "q has no elements; nothing to do\n";
    const engine::SparseProblem& p = planned.problem;
    const char* scenario = !p.cmp.present ? "window" : p.cmp.topk > 0 ? "window and selected compressed rows"
                                                                      : "window and compressed rows";
    return text(scenario, ", ", p.max_sequences, " sequences, ", p.heads, " heads, layouts ",
                layout_name(planned.op, planned.layout_q), " and ", layout_name(planned.op, planned.layout_kv), "\n",
                planned.attention->describe());
}

}  // namespace acl_attn::ops::sparse
