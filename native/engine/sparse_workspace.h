// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How a sparse run's workspace is divided, see workspace.h.
#pragma once

#include "engine/sparse_block.h"
#include "engine/sparse_schedule.h"
#include "engine/workspace.h"

namespace acl_attn::engine {

// The numbers that decide how large a workspace is.
struct SparseBounds {
    int threads = 1;
    int32_t block_rows = 0;    // most rows of a block
    int64_t split_blocks = 0;  // most blocks of a run whose blocks are split; 0: none is
    int32_t split_rows = 0;    // most rows of such a block
    int64_t parts = 1;         // most parts of such a block
};

struct SparseWorkspace {
    size_t bytes = 0;               // what the caller must provide, whatever its address's alignment
    char* scratch = nullptr;        // [threads] of scratch_stride bytes
    size_t scratch_stride = 0;
    int64_t* first_item = nullptr;  // [max_sequences + 1] of each sequence; or of each block, where these are split
    // Of split blocks:
    float* partial_out = nullptr;       // [block][part][split_rows][dim]
    RowState* partial_state = nullptr;  // [block][part][split_rows]
    SparseParts* parts = nullptr;       // [block]
    int32_t* arrivals = nullptr;        // [block]: parts finished
};

SparseWorkspace divide_workspace(void* memory, const SparseProblem& problem, const SparseBounds& bounds,
                                 const Kernels& kernels);

// The scratch of one thread.
SparseScratch divide_scratch(Arena& arena, const SparseProblem& problem, const SparseBounds& bounds,
                             const Kernels& kernels);

}  // namespace acl_attn::engine
