// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which keys a row sees, and where the rows of keys, values, queries and results lie.
#pragma once

#include "engine/half-inl.h"
#include "engine/kernels.h"

namespace acl_attn::engine {
namespace {

struct Interval {
    int64_t begin, end;  // empty if begin >= end
    bool empty() const { return begin >= end; }
};

inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
inline int round_down(int n, int multiple) { return n / multiple * multiple; }

// The keys of the block's range that merged row `row` sees by its band; a mask may hide more.
inline Interval visible_keys(const RowBlock& block, int64_t row) {
    const int64_t token = row / block.group;
    return {larger(block.key_begin, token + block.band_first), smaller(block.key_end, token + block.band_last + 1)};
}

// The keys that some row of [row_begin, row_end) sees: both ends grow with the row.
inline Interval visible_keys(const RowBlock& block, int64_t row_begin, int64_t row_end) {
    return {visible_keys(block, row_begin).begin, visible_keys(block, row_end - 1).end};
}

inline bool is_hidden(const RowBlock& block, int64_t row, int64_t key) {
    return block.mask != nullptr && block.mask[row / block.group * block.mask_row_stride + key] != 0;
}

// Addresses of rows [begin, end), the first into rows[0].
inline void locate_rows(const KvView& view, int64_t begin, int64_t end, const uint16_t** rows) {
    if (view.table == nullptr) {
        for (int64_t t = begin; t < end; t++) *rows++ = view.base + t * view.token_stride;
        return;
    }
    int64_t block = begin / view.block_size;
    int64_t inside = begin % view.block_size;
    for (int64_t t = begin; t < end; block++, inside = 0) {
        const uint16_t* row = view.base + view.table[block] * view.block_stride + inside * view.token_stride;
        const int64_t stop = smaller(end, (block + 1) * view.block_size);
        for (; t < stop; t++, row += view.token_stride) *rows++ = row;
    }
}

inline bool is_chunked(const KvView& view) { return view.chunk < view.dim; }

// Puts the chunks of each row together in `staging` ([count][stride]) and points to the copies instead.
inline void stage_rows(const KvView& view, const uint16_t** rows, int count, uint16_t* staging, int stride) {
    for (int i = 0; i < count; i++) {
        uint16_t* to = staging + static_cast<ptrdiff_t>(i) * stride;
        const uint16_t* from = rows[i];
        for (int d = 0; d < view.dim; d += view.chunk, from += view.chunk_stride) {
            const int n = view.dim - d < view.chunk ? view.dim - d : view.chunk;
            __builtin_memcpy(to + d, from, static_cast<size_t>(n) * sizeof(uint16_t));
        }
        rows[i] = to;
    }
}

inline const uint16_t* query_row(const RowBlock& block, int kv_head, int64_t row) {
    return block.query + row / block.group * block.query_token_stride +
           (kv_head * block.group + row % block.group) * block.query_head_stride;
}

// Copies a query row as fp32; lanes beyond dim up to a whole vector become 0.
template <class T>
inline void widen_query(const RowBlock& block, int kv_head, int64_t row, float* to) {
    const uint16_t* from = query_row(block, kv_head, row);
    for (int d = 0; d < block.dim; d += kLanes) store(to + d, load_wide_part<T>(from + d, block.dim - d));
}

}  // namespace
}  // namespace acl_attn::engine
