// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the sparse kernels are given: plain data, like that of kernels.h and for the same reason.
#pragma once

#include "engine/kernels.h"

namespace acl_attn::engine {

// Long streams are cut at these places, in rows of the stream or entries of its list: 0, 1, ..., 15, 16, 18, ..., 30,
// 32, 36, ... times the unit. What a token sees before and after a cut is summed separately and combined in order,
// whoever computes it: the cuts are on one grid for all calls, and grow so that there are few of them. What it sees of
// the original stream after the last cut and of the compressed one before the first is one sum.
constexpr int64_t kSparseSplitUnit = 1024;
static constexpr int64_t sparse_split_begin(int64_t split) {
    return (split < 8 ? split : (8 + split % 8) << (split / 8 - 1)) * kSparseSplitUnit;
}

// One stream of one sequence.
struct SparseView {
    KvView rows;             // base null: the sequence has none. Packed rows: dtype is that of the codes.
    const int32_t* indices;  // token 0's list; null: tokens see intervals
    const int32_t* topk_length;  // token 0's; may be null
    int64_t topk;
    int64_t len;
    // Of what a token sees (rows, or entries that name one, counted from the list's first) only [begin, end) is meant.
    int64_t begin, end;
};

// Query tokens [token_begin, token_end) and some neighbouring heads.
struct SparseBlock {
    // `group` is the number of these heads, head 0 the first of them; merged row r is token r / group. Its keys,
    // values, and bands are not used.
    RowBlock rows;
    SparseView ori, cmp;
    int64_t band_first, band_last;     // of original rows without lists
    int64_t cmp_shift, cmp_ratio;      // see SparseSequence
    int64_t token_begin, token_end;
    bool packed;
    int32_t all_heads;  // of the problem
};

// Beside Scratch, which is that of prefill.
struct SparseScratch {
    Scratch tile;
    float* total;            // [rows][dim] what is before the last cut
    RowState* total_state;   // [rows]
    uint16_t* unpacked;      // [kTileKeys][dim], for packed rows; else null
};

// Sums of a token's parts between cuts, to be combined in order.
struct SparseMerge {
    float* partial_out;             // [parts][rows][dim_v]; destroyed
    const RowState* partial_state;  // [parts][rows]
    int32_t parts;
    int64_t row_begin, row_end;
    int32_t group, dim_v;
    RowSink sink;
};

}  // namespace acl_attn::engine
