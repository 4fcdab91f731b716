// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse_workspace.h"

#include <algorithm>

#include "engine/sparse_blocks.h"

namespace acl_attn::engine {
namespace {

// Query and rows as workspace.h knows them: V is K, nothing is staged.
Problem tile_problem(const SparseProblem& p) {
    Problem tile;
    tile.dtype = tile.kv_dtype = tile.out_dtype = p.dtype;
    tile.heads = p.heads;
    tile.kv_heads = 1;
    tile.dim = kSparseDim;
    tile.dim_v = kSparseDim;
    tile.key.chunk = kSparseDim;
    tile.value_is_key = true;
    return tile;
}

}  // namespace

SparseScratch divide_scratch(Arena& arena, const SparseProblem& problem, const SparseBounds& bounds,
                             const Kernels& kernels) {
    Schedule schedule;
    schedule.block_rows = bounds.block_rows;
    SparseScratch s = {};
    s.tile = divide_scratch(arena, tile_problem(problem), schedule, kernels);
    const size_t rows = static_cast<size_t>(bounds.block_rows);
    s.total = arena.take<float>(rows * kSparseDim);
    s.total_state = arena.take<RowState>(rows);
    if (is_packed(problem)) s.unpacked = arena.take<uint16_t>(size_t{kTileKeys} * kSparseDim);
    return s;
}

SparseWorkspace divide_workspace(void* memory, const SparseProblem& problem, const SparseBounds& bounds,
                                 const Kernels& kernels) {
    Arena counter;
    divide_scratch(counter, problem, bounds, kernels);
    SparseWorkspace w;
    Arena arena = Arena::aligned(memory);
    w.scratch_stride = Arena::round_up(counter.used());
    w.scratch = arena.take<char>(w.scratch_stride * static_cast<size_t>(bounds.threads));
    w.first_item = arena.take<int64_t>(static_cast<size_t>(std::max(problem.max_sequences, bounds.split_blocks) + 1));
    const size_t blocks = static_cast<size_t>(bounds.split_blocks);
    const size_t rows = blocks * static_cast<size_t>(bounds.parts * bounds.split_rows);
    w.partial_out = arena.take<float>(rows * kSparseDim);
    w.partial_state = arena.take<RowState>(rows);
    w.parts = arena.take<SparseParts>(blocks);
    w.arrivals = arena.take<int32_t>(blocks);
    w.bytes = arena.used() + Arena::kAlignment;
    return w;
}

}  // namespace acl_attn::engine
