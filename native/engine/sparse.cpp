// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/padding.h"
#include "engine/sparse_block.h"
#include "engine/sparse_faults.h"
#include "engine/sparse_schedule.h"
#include "engine/targets.h"
#include "engine/thread_pool.h"
#include "engine/threads.h"
#include "engine/workspace.h"

namespace acl_attn::engine {
namespace {

bool is_packed(const SparseProblem& p) { return p.rows == SparseRows::packed_e4m3 || p.rows == SparseRows::packed_hif8; }

void check(const SparseProblem& p) {
    const auto require = [](bool holds, const char* message) {
        if (!holds) throw std::invalid_argument(message);
    };
    require(p.dtype == Dtype::f16 || p.dtype == Dtype::bf16, "dtype: expected f16 or bf16");
    const SparseRows plain = p.dtype == Dtype::f16 ? SparseRows::f16 : SparseRows::bf16;
    require(p.rows == plain || (is_packed(p) && p.dtype == Dtype::bf16),
            "rows: expected the query's type, or packed rows beside a bf16 query");
    require(p.heads >= 1 && p.heads <= 128, "heads: expected 1 to 128");
    require(p.cmp_ratio >= 1, "cmp_ratio: expected a positive number");
    require(p.max_sequences >= 0 && p.max_tokens >= 0, "max_sequences, max_tokens: expected numbers not below 0");
    for (const SparsePool* pool : {&p.ori, &p.cmp}) {
        require(pool->block_size >= 0 && pool->block_count >= 0, "blocks: expected numbers not below 0");
        require(pool->topk >= 0 && pool->max_seen >= 0, "topk, max_seen: expected numbers not below 0");
    }
}

// Query and rows as FIA's arena knows them: V is K, nothing is staged.
Problem tile_problem(const SparseProblem& p) {
    Problem tile;
    tile.dtype = tile.kv_dtype = tile.out_dtype = p.dtype;
    tile.heads = p.heads;
    tile.kv_heads = 1;
    tile.dim = tile.dim_v = kSparseDim;
    tile.key.chunk = kSparseDim;
    tile.value_is_key = true;
    return tile;
}

class PlannedSparse final : public SparseAttention {
public:
    explicit PlannedSparse(const SparseProblem& problem)
        : problem_(problem), kernels_(target_kernels(target_in_use())), threads_(thread_count()),
          block_rows_(static_cast<int32_t>(std::min<int64_t>(
              kMaxBlockRows, problem.max_tokens * rows_of_token(problem, problem.heads)))) {
        const SparseShape smallest = choose_shape(problem_, nullptr, 0, threads_);
        max_parts_ = most_parts(problem_);
        if (smallest.blocks < threads_ && max_parts_ > 1) {
            split_blocks_ = smallest.blocks;
            split_rows_ = smallest.heads;
        }
        bytes_ = divide(nullptr).bytes;
    }

    size_t workspace_bytes() const override { return bytes_; }
    SparseFault run(const SparseOperands& operands, const SparseSequence* sequences, int64_t count,
                    void* workspace) const noexcept override;
    std::string describe() const override;

private:
    struct Memory {
        size_t bytes = 0;
        char* scratch = nullptr;  // [threads] of scratch_stride bytes
        size_t scratch_stride = 0;
        int64_t* first_item = nullptr;  // [max_sequences + 1] of each sequence; or of each block, where these are split
        // Of split blocks:
        float* partial_out = nullptr;         // [block][part][rows][dim]
        RowState* partial_state = nullptr;    // [block][part][rows]
        SparseParts* parts = nullptr;         // [block]
        int32_t* arrivals = nullptr;          // [block] parts finished
    };

    struct Run {
        const PlannedSparse& plan;
        const SparseOperands& operands;
        const SparseSequence* sequences;
        int64_t count;
        Memory memory;
        SparseShape shape;
        bool is_split = false;
        int64_t items = 0;
        std::atomic<int64_t> next{0};
    };

    // A block's place among the sequences.
    struct Place {
        int64_t sequence, token_begin, token_end;
        int32_t head_begin, heads;
    };

    Memory divide(void* memory) const;
    SparseScratch divide_scratch(Arena& arena) const;
    int64_t blocks_of(const Run& run, const SparseSequence& s) const {
        return (s.q_len + run.shape.tokens - 1) / run.shape.tokens * run.shape.head_parts;
    }
    int worthwhile_threads(const SparseSequence* sequences, int64_t count) const;
    void list_items(Run& run) const;
    bool split_blocks(Run& run) const;
    Place place_of(const Run& run, int64_t sequence, int64_t block) const;
    static void work(void* run, int slot);
    void compute(Run& run, int64_t item, const SparseScratch& scratch) const;
    void compute_part(Run& run, int64_t item, const SparseScratch& scratch) const;
    RowSink row_sink(const SparseOperands& operands, const SparseSequence& s, int64_t head) const;
    SparseView view(const SparsePool& pool, const SparseStream& stream, const void* base, const int32_t* table,
                    const int32_t* indices, const int32_t* lengths, int64_t list_row) const;
    SparseBlock block_at(const Run& run, const Place& place) const;

    const SparseProblem problem_;
    const Kernels& kernels_;
    const int threads_;
    const int32_t block_rows_;
    int64_t max_parts_ = 1;
    int64_t split_blocks_ = 0;  // at most so many blocks may be split
    int32_t split_rows_ = 0;    // of each
    size_t bytes_ = 0;
};

SparseScratch PlannedSparse::divide_scratch(Arena& arena) const {
    Schedule schedule;
    schedule.block_rows = block_rows_;
    SparseScratch s = {};
    s.tile = engine::divide_scratch(arena, tile_problem(problem_), schedule, kernels_);
    const size_t rows = static_cast<size_t>(block_rows_);
    s.total = arena.take<float>(rows * kSparseDim);
    s.total_state = arena.take<RowState>(rows);
    if (is_packed(problem_)) s.unpacked = arena.take<uint16_t>(size_t{kTileKeys} * kSparseDim);
    return s;
}

PlannedSparse::Memory PlannedSparse::divide(void* memory) const {
    Arena counter;
    divide_scratch(counter);
    Memory m;
    Arena arena = Arena::aligned(memory);
    m.scratch_stride = Arena::round_up(counter.used());
    m.scratch = arena.take<char>(m.scratch_stride * static_cast<size_t>(threads_));
    m.first_item = arena.take<int64_t>(static_cast<size_t>(std::max(problem_.max_sequences, split_blocks_) + 1));
    const size_t blocks = static_cast<size_t>(split_blocks_);
    const size_t rows = blocks * static_cast<size_t>(max_parts_ * split_rows_);
    m.partial_out = arena.take<float>(rows * kSparseDim);
    m.partial_state = arena.take<RowState>(rows);
    m.parts = arena.take<SparseParts>(blocks);
    m.arrivals = arena.take<int32_t>(blocks);
    m.bytes = arena.used() + Arena::kAlignment;
    return m;
}

int PlannedSparse::worthwhile_threads(const SparseSequence* sequences, int64_t count) const {
    constexpr double kMultiplyAddsPerThread = 5e5;
    const auto seen = [](const SparsePool& pool, int64_t columns) {
        return static_cast<double>(pool.topk > 0 ? std::min(pool.topk, columns) : columns);
    };
    double scores = 0;
    for (int64_t i = 0; i < count; i++) {
        const SparseSequence& s = sequences[i];
        if (s.q_len == 0) continue;
        const SparseRange ori = original_columns(problem_, s, s.q_len / 2);
        scores += static_cast<double>(s.q_len) *
                  (seen(problem_.ori, ori.end - ori.begin) +
                   seen(problem_.cmp, visible_compressed(problem_, s, s.q_len / 2)) + 1);
    }
    const double work = scores * problem_.heads * 2 * kSparseDim;
    return static_cast<int>(std::clamp(work / kMultiplyAddsPerThread, 1.0, static_cast<double>(threads_)));
}

// An item is a block, or what follows a sequence's blocks: its padding.
void PlannedSparse::list_items(Run& run) const {
    run.items = 0;
    for (int64_t i = 0; i < run.count; i++) {
        const SparseSequence& s = run.sequences[i];
        run.memory.first_item[i] = run.items;
        run.items += blocks_of(run, s) + (s.pad_after > 0 ? 1 : 0);
    }
    run.memory.first_item[run.count] = run.items;
}

// Where blocks are few, items are their parts. Padding is written at once then. False: they stay whole.
bool PlannedSparse::split_blocks(Run& run) const {
    if (run.shape.blocks == 0 || run.shape.blocks > split_blocks_ || run.shape.heads > split_rows_) return false;
    int64_t block = 0, items = 0;
    for (int64_t i = 0; i < run.count; i++) {
        const SparseSequence& s = run.sequences[i];
        for (int64_t b = 0; b < blocks_of(run, s); b++, block++) {
            const int64_t token = place_of(run, i, b).token_begin;
            SparseRange ori = original_columns(problem_, s, token);
            SparseRange cmp = {0, visible_compressed(problem_, s, token)};
            if (problem_.ori.topk > 0) ori = {0, count_rows(list_of(problem_, run.operands, s, token, false))};
            if (problem_.cmp.topk > 0) cmp = {0, count_rows(list_of(problem_, run.operands, s, token, true))};
            run.memory.parts[block] = SparseParts(ori, cmp);
            run.memory.first_item[block] = items;
            const int64_t parts = std::max<int64_t>(run.memory.parts[block].count(), 1);
            if (parts > max_parts_) return false;
            items += parts;
        }
    }
    if (items == block) return false;
    run.memory.first_item[block] = items;
    run.items = items;
    std::memset(run.memory.arrivals, 0, sizeof(int32_t) * static_cast<size_t>(block));
    for (int64_t i = 0; i < run.count; i++) {
        const SparseSequence& s = run.sequences[i];
        clear_tokens(row_sink(run.operands, s, 0), s.q_len, s.q_len + s.pad_after, problem_.heads, kSparseDim);
    }
    return true;
}

SparseFault PlannedSparse::run(const SparseOperands& operands, const SparseSequence* sequences, int64_t count,
                               void* memory) const noexcept {
    const SparseFault fault = find_fault(problem_, operands, sequences, count);
    if (fault.found()) return fault;
    const int threads = worthwhile_threads(sequences, count);
    Run run{*this, operands, sequences, count, divide(memory), choose_shape(problem_, sequences, count, threads)};
    run.is_split = threads > 1 && split_blocks(run);
    if (!run.is_split) list_items(run);
    const int slots = static_cast<int>(std::min<int64_t>(threads, run.items));
    if (slots > 0) run_on_threads(slots, work, &run);
    return {};
}

void PlannedSparse::work(void* context, int slot) {
    Run& run = *static_cast<Run*>(context);
    const PlannedSparse& plan = run.plan;
    int64_t item = run.next.fetch_add(1, std::memory_order_relaxed);
    if (item >= run.items) return;
    Arena arena(run.memory.scratch + run.memory.scratch_stride * static_cast<size_t>(slot));
    const SparseScratch scratch = plan.divide_scratch(arena);
    std::memset(scratch.tile.zeros, 0, sizeof(float) * kMaxDim);
    for (; item < run.items; item = run.next.fetch_add(1, std::memory_order_relaxed)) {
        run.is_split ? plan.compute_part(run, item, scratch) : plan.compute(run, item, scratch);
    }
}

// The last tokens first: under a causal rule they see most.
PlannedSparse::Place PlannedSparse::place_of(const Run& run, int64_t sequence, int64_t block) const {
    const SparseSequence& s = run.sequences[sequence];
    const int64_t runs = (s.q_len + run.shape.tokens - 1) / run.shape.tokens;
    const int64_t token = (runs - 1 - block / run.shape.head_parts) * run.shape.tokens;
    const int32_t head = static_cast<int32_t>(block % run.shape.head_parts) * run.shape.heads;
    return {sequence, token, std::min<int64_t>(token + run.shape.tokens, s.q_len), head,
            std::min(run.shape.heads, problem_.heads - head)};
}

void PlannedSparse::compute(Run& run, int64_t item, const SparseScratch& scratch) const {
    const int64_t* first = run.memory.first_item;
    const int64_t sequence = std::upper_bound(first, first + run.count + 1, item) - first - 1;
    const SparseSequence& s = run.sequences[sequence];
    const int64_t block = item - first[sequence];
    if (block == blocks_of(run, s)) {
        clear_tokens(row_sink(run.operands, s, 0), s.q_len, s.q_len + s.pad_after, problem_.heads, kSparseDim);
        return;
    }
    kernels_.sparse[static_cast<int>(problem_.dtype)](block_at(run, place_of(run, sequence, block)), scratch);
}

void PlannedSparse::compute_part(Run& run, int64_t item, const SparseScratch& scratch) const {
    const int64_t* first = run.memory.first_item;
    const int64_t block = std::upper_bound(first, first + run.shape.blocks + 1, item) - first - 1;
    int64_t sequence = 0, before = 0;
    while (block - before >= blocks_of(run, run.sequences[sequence])) {
        before += blocks_of(run, run.sequences[sequence]);
        sequence++;
    }
    const SparseSequence& s = run.sequences[sequence];
    const Place place = place_of(run, sequence, block - before);
    const int64_t parts = first[block + 1] - first[block];
    SparseBlock b = block_at(run, place);
    const auto compute = kernels_.sparse[static_cast<int>(problem_.dtype)];
    if (parts == 1) return compute(b, scratch);

    SparseRange ori, cmp;
    const int64_t part = item - first[block];
    run.memory.parts[block].columns(part, &ori, &cmp);
    b.ori.begin = ori.begin;
    b.ori.end = ori.end;
    b.cmp.begin = cmp.begin;
    b.cmp.end = cmp.end;
    float* partial_out = run.memory.partial_out + block * max_parts_ * split_rows_ * kSparseDim;
    RowState* partial_state = run.memory.partial_state + block * max_parts_ * split_rows_;
    b.rows.sink.partial_out = partial_out + part * place.heads * kSparseDim;
    b.rows.sink.partial_state = partial_state + part * place.heads;
    compute(b, scratch);
    // The last to arrive has seen all others' partials.
    if (__atomic_fetch_add(run.memory.arrivals + block, 1, __ATOMIC_ACQ_REL) != parts - 1) return;
    SparseMerge merge = {};
    merge.partial_out = partial_out;
    merge.partial_state = partial_state;
    merge.parts = static_cast<int32_t>(parts);
    merge.row_begin = b.rows.row_begin;
    merge.row_end = b.rows.row_end;
    merge.group = place.heads;
    merge.dim_v = kSparseDim;
    merge.sink = row_sink(run.operands, s, place.head_begin);
    kernels_.merge_sparse(merge);
}

RowSink PlannedSparse::row_sink(const SparseOperands& operands, const SparseSequence& s, int64_t head) const {
    const SparseProblem& p = problem_;
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

SparseView PlannedSparse::view(const SparsePool& pool, const SparseStream& stream, const void* base,
                               const int32_t* table, const int32_t* indices, const int32_t* lengths,
                               int64_t list_row) const {
    SparseView v = {};
    v.len = stream.len;
    if (!pool.present || stream.len == 0) return v;  // nothing will be read, and there may be no memory at all
    const Dtype codes = problem_.rows == SparseRows::packed_hif8   ? Dtype::hif8
                        : problem_.rows == SparseRows::packed_e4m3 ? Dtype::f8_e4m3
                                                                   : problem_.dtype;
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

SparseBlock PlannedSparse::block_at(const Run& run, const Place& place) const {
    const SparseProblem& p = problem_;
    const SparseOperands& o = run.operands;
    const SparseSequence& s = run.sequences[place.sequence];
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
    b.rows.sink = row_sink(o, s, place.head_begin);
    b.ori = view(p.ori, s.ori, o.ori, o.ori_block_table, o.ori_indices, o.ori_topk_length, s.list_row);
    b.cmp = view(p.cmp, s.cmp, o.cmp, o.cmp_block_table, o.cmp_indices, o.cmp_topk_length, s.list_row);
    b.band_first = s.ori_band.first;
    b.band_last = s.ori_band.last;
    b.cmp_shift = s.cmp_shift;
    b.cmp_ratio = p.cmp_ratio;
    b.token_begin = place.token_begin;
    b.token_end = place.token_end;
    b.packed = is_packed(p);
    return b;
}

std::string PlannedSparse::describe() const {
    const auto text = [](auto number) { return std::to_string(number); };
    std::string out = "target: " + std::string(kernels_.name) + ", threads: up to " + text(threads_);
    out += "\nshape: up to " + text(problem_.max_sequences) + " sequences, " + text(problem_.max_tokens) +
           " query tokens, heads " + text(problem_.heads) + ", rows of " + text(kSparseDim);
    out += "\nblocks: up to " + text(block_rows_) + " rows; " +
           (split_blocks_ > 0 ? "up to " + text(max_parts_) + " parts of a token's streams" : "never split");
    out += "\nworkspace: " + text(bytes_) + " bytes";
    return out;
}

}  // namespace

std::unique_ptr<const SparseAttention> SparseAttention::plan(const SparseProblem& problem) {
    check(problem);
    return std::make_unique<PlannedSparse>(problem);
}

}  // namespace acl_attn::engine
