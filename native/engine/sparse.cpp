// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "engine/padding.h"
#include "engine/sparse_blocks.h"
#include "engine/sparse_faults.h"
#include "engine/sparse_schedule.h"
#include "engine/sparse_workspace.h"
#include "engine/targets.h"
#include "engine/thread_pool.h"
#include "engine/threads.h"

namespace acl_attn::engine {
namespace {

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

SparseBounds bounds_of(const SparseProblem& p, int threads, int32_t group) {
    SparseBounds bounds;
    bounds.threads = threads;
    const int64_t rows = p.max_tokens * rows_of_token(p, p.heads, group);
    bounds.block_rows = static_cast<int32_t>(std::min<int64_t>(kMaxBlockRows, rows));
    const SparseShape smallest = choose_shape(p, nullptr, 0, threads, group);
    bounds.parts = most_parts(p);
    if (smallest.blocks < threads && bounds.parts > 1) {
        bounds.split_blocks = smallest.blocks;
        bounds.split_rows = smallest.heads;
    }
    return bounds;
}

class PlannedSparse final : public SparseAttention {
public:
    explicit PlannedSparse(const SparseProblem& problem)
        : problem_(problem), kernels_(target_kernels(target_in_use())),
          group_(kernels_.form[static_cast<int>(problem.dtype)].group),
          bounds_(bounds_of(problem, thread_count(), group_)),
          bytes_(divide_workspace(nullptr, problem_, bounds_, kernels_).bytes) {}

    size_t workspace_bytes() const override { return bytes_; }
    SparseFault run(const SparseOperands& operands, const SparseSequence* sequences, int64_t count,
                    void* workspace) const noexcept override;
    std::string describe() const override;

private:
    struct Run {
        const PlannedSparse& plan;
        const SparseOperands& operands;
        const SparseSequence* sequences;
        int64_t count;
        SparseWorkspace memory = {};
        SparseShape shape = {};
        bool is_split = false;
        int64_t items = 0;
        std::atomic<int64_t> next{0};
    };

    int64_t blocks_of(const Run& run, const SparseSequence& s) const {
        return (s.q_len + run.shape.tokens - 1) / run.shape.tokens * run.shape.head_parts;
    }
    void clear_padding(const Run& run, const SparseSequence& s) const {
        const RowSink sink = row_sink(problem_, run.operands, s, 0);
        clear_tokens(sink, s.q_len, s.q_len + s.pad_after, problem_.heads, kSparseDim);
    }
    double multiply_adds(const SparseSequence* sequences, int64_t count) const;
    void list_items(Run& run) const;
    bool split_blocks(Run& run) const;
    SparsePlace place_of(const Run& run, int64_t sequence, int64_t block) const;
    static void work(void* run, int slot);
    void compute(Run& run, int64_t item, const SparseScratch& scratch) const;
    void compute_part(Run& run, int64_t item, const SparseScratch& scratch) const;

    const SparseProblem problem_;
    const Kernels& kernels_;
    const int32_t group_;  // rows that are computed together
    const SparseBounds bounds_;
    const size_t bytes_;
};

double PlannedSparse::multiply_adds(const SparseSequence* sequences, int64_t count) const {
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
    return scores * problem_.heads * 2 * kSparseDim;
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
    const SparseShape& shape = run.shape;
    if (shape.tokens > 1 || shape.blocks == 0 || shape.blocks > bounds_.split_blocks) return false;
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
            if (parts > bounds_.parts) return false;
            items += parts;
        }
    }
    if (items == block) return false;
    run.memory.first_item[block] = items;
    run.items = items;
    std::memset(run.memory.arrivals, 0, sizeof(int32_t) * static_cast<size_t>(block));
    for (int64_t i = 0; i < run.count; i++) {
        const SparseSequence& s = run.sequences[i];
        clear_padding(run, s);
    }
    return true;
}

SparseFault PlannedSparse::run(const SparseOperands& operands, const SparseSequence* sequences, int64_t count,
                               void* memory) const noexcept {
    const SparseFault fault = find_fault(problem_, operands, sequences, count);
    if (fault.found()) return fault;
    const double work_to_do = multiply_adds(sequences, count);
    const int threads = worthwhile_threads(work_to_do, bounds_.threads);
    Run run{*this, operands, sequences, count};
    run.memory = divide_workspace(memory, problem_, bounds_, kernels_);
    run.shape = choose_shape(problem_, sequences, count, threads, group_);
    run.is_split = threads > 1 && split_blocks(run);
    if (!run.is_split) list_items(run);
    const int slots = static_cast<int>(std::min<int64_t>(threads, run.items));
    if (slots > 0) run_on_threads(slots, work, &run, is_worth_waking(work_to_do));
    return {};
}

void PlannedSparse::work(void* context, int slot) {
    Run& run = *static_cast<Run*>(context);
    const PlannedSparse& plan = run.plan;
    int64_t item = run.next.fetch_add(1, std::memory_order_relaxed);
    if (item >= run.items) return;
    Arena arena(run.memory.scratch + run.memory.scratch_stride * static_cast<size_t>(slot));
    const SparseScratch scratch = divide_scratch(arena, plan.problem_, plan.bounds_, plan.kernels_);
    std::memset(scratch.tile.zeros, 0, sizeof(float) * kMaxDim);
    for (; item < run.items; item = run.next.fetch_add(1, std::memory_order_relaxed)) {
        run.is_split ? plan.compute_part(run, item, scratch) : plan.compute(run, item, scratch);
    }
}

// The last tokens first: under a causal rule they see most.
SparsePlace PlannedSparse::place_of(const Run& run, int64_t sequence, int64_t block) const {
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
        clear_padding(run, s);
        return;
    }
    const SparseBlock b = block_at(problem_, run.operands, s, place_of(run, sequence, block));
    kernels_.sparse[static_cast<int>(problem_.dtype)](b, scratch);
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
    const SparsePlace place = place_of(run, sequence, block - before);
    const int64_t parts = first[block + 1] - first[block];
    SparseBlock b = block_at(problem_, run.operands, s, place);
    const auto compute = kernels_.sparse[static_cast<int>(problem_.dtype)];
    if (parts == 1) return compute(b, scratch);

    SparseRange ori, cmp;
    const int64_t part = item - first[block];
    run.memory.parts[block].columns(part, &ori, &cmp);
    b.ori.begin = ori.begin;
    b.ori.end = ori.end;
    b.cmp.begin = cmp.begin;
    b.cmp.end = cmp.end;
    float* partial_out = run.memory.partial_out + block * bounds_.parts * bounds_.split_rows * kSparseDim;
    RowState* partial_state = run.memory.partial_state + block * bounds_.parts * bounds_.split_rows;
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
    merge.sink = row_sink(problem_, run.operands, s, place.head_begin);
    kernels_.merge_sparse(merge);
}

std::string PlannedSparse::describe() const {
    const auto text = [](auto number) { return std::to_string(number); };
    std::string out = "target: " + std::string(kernels_.name) + ", threads: up to " + text(bounds_.threads);
    out += "\nshape: up to " + text(problem_.max_sequences) + " sequences, " + text(problem_.max_tokens) +
           " query tokens, heads " + text(problem_.heads) + ", rows of " + text(kSparseDim);
    out += "\nblocks: up to " + text(bounds_.block_rows) + " rows; " +
           (bounds_.split_blocks > 0 ? "up to " + text(bounds_.parts) + " parts of a token's streams" : "never split");
    out += "\nworkspace: " + text(bytes_) + " bytes";
    return out;
}

}  // namespace

std::unique_ptr<const SparseAttention> SparseAttention::plan(const SparseProblem& problem) {
    check(problem);
    return std::make_unique<PlannedSparse>(problem);
}

}  // namespace acl_attn::engine
