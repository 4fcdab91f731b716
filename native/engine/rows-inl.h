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

// Columns of a tile, which stand for keys. None if begin >= end.
struct TileColumns {
    int begin, end;
};

// What covers both; one that is empty does not matter.
inline Interval hull(Interval a, Interval b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
// The columns of keys first_key + [begin, end) that stand for keys of an interval.
inline TileColumns columns_of(Interval keys, int64_t first_key, int begin, int end) {
    const int64_t from = smaller(larger(keys.begin - first_key, begin), end);
    return {static_cast<int>(from), static_cast<int>(larger(smaller(keys.end - first_key, end), from))};
}

inline int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
inline int round_down(int n, int multiple) { return n / multiple * multiple; }

// The formula of geometry::columns_between stands here once more because a function shared with other translation units
// could be merged with theirs (kernels.h).
// The keys of the block's range that merged row `row` sees by its band; a mask may hide more.
inline Interval visible_keys(const RowBlock& block, int64_t row) {
    const int64_t token = row / block.group;
    return {larger(block.key_begin, token + block.band_first), smaller(block.key_end, token + block.band_last + 1)};
}

// The keys that some row of [row_begin, row_end) sees: both ends grow with the row.
inline Interval visible_keys(const RowBlock& block, int64_t row_begin, int64_t row_end) {
    return {visible_keys(block, row_begin).begin, visible_keys(block, row_end - 1).end};
}

// Whether the heads that are computed together have rows of their own, and do not lie side by side in a token's.
inline bool has_heads_apart(const RowBlock& block) {
    return block.kv_heads > 1 && (block.key.head_stride != bytes_of(block.key.dtype, block.key.dim) ||
                                  block.value.head_stride != bytes_of(block.value.dtype, block.value.dim));
}

// The bytes of a mask, of merged row `row`, from column 0 on.
inline const uint8_t* mask_row(const RowBlock& block, int64_t row) {
    return block.mask + row / block.group * block.mask_row_stride;
}

inline bool is_hidden(const RowBlock& block, int64_t row, int64_t key) {
    return block.mask != nullptr && mask_row(block, row)[key] != 0;
}

inline const char* row_address(const KvView& view, int64_t t) {
    if (view.table == nullptr) return view.base + t * view.token_stride;
    return view.base + view.table[t / view.block_size] * view.block_stride + t % view.block_size * view.token_stride;
}

// Addresses of rows [begin, end), the first into rows[0].
inline void locate_rows(const KvView& view, int64_t begin, int64_t end, const void** rows) {
    if (view.table == nullptr) {
        for (int64_t t = begin; t < end; t++) *rows++ = view.base + t * view.token_stride;
        return;
    }
    int64_t block = begin / view.block_size;
    int64_t inside = begin % view.block_size;
    for (int64_t t = begin; t < end; block++, inside = 0) {
        const char* row = view.base + view.table[block] * view.block_stride + inside * view.token_stride;
        const int64_t stop = smaller(end, (block + 1) * view.block_size);
        for (; t < stop; t++, row += view.token_stride) *rows++ = row;
    }
}

// The same for rows of the prefix followed by the sequence's own.
inline void locate_rows(const KvView& own, const KvView& prefix, int64_t prefix_len, int64_t begin, int64_t end,
                        const void** rows) {
    const int64_t border = smaller(larger(begin, prefix_len), end);
    if (begin < border) locate_rows(prefix, begin, border, rows);
    if (border < end) locate_rows(own, border - prefix_len, end - prefix_len, rows + (border - begin));
}

inline int64_t query_head(const RowBlock& block, int kv_head, int64_t row) {
    return kv_head * block.group + row % block.group;
}

// The two parts of a query row; the second has block.rope_dim channels.
inline const uint16_t* query_row(const RowBlock& block, int kv_head, int64_t row) {
    return block.query + row / block.group * block.query_token_stride +
           query_head(block, kv_head, row) * block.query_head_stride;
}
inline const uint16_t* query_rope_row(const RowBlock& block, int kv_head, int64_t row) {
    return block.query_rope + row / block.group * block.query_rope_token_stride +
           query_head(block, kv_head, row) * block.query_rope_head_stride;
}

inline vf widen_part(Dtype dtype, const uint16_t* p, int n) {
    return dtype == Dtype::f16 ? load_wide_part<F16>(p, n) : load_wide_part<BF16>(p, n);
}

// Copies a query row as fp32; lanes beyond dim up to a whole vector become 0.
inline void widen_query(const RowBlock& block, int kv_head, int64_t row, float* to) {
    const Dtype dtype = block.sink.query_dtype;
    const int own = block.dim - block.rope_dim;
    const uint16_t* from = query_row(block, kv_head, row);
    for (int d = 0; d < own; d += kLanes) store(to + d, widen_part(dtype, from + d, own - d));
    if (block.rope_dim == 0) return;
    from = query_rope_row(block, kv_head, row);
    for (int d = own; d < round_up(block.dim, kLanes); d++) to[d] = 0.0f;
    for (int d = 0; d < block.rope_dim; d += kLanes) {
        const int n = block.rope_dim - d;
        store_part(to + own + d, widen_part(dtype, from + d, n), n);
    }
}

// In vectors: calls of a library function for each row take longer than the copies.
inline void copy_channels(const uint16_t* from, int count, uint16_t* to) {
    int d = 0;
    for (; d + 2 * kLanes <= count; d += 2 * kLanes) store(to + d, load<vw>(from + d));
    for (; d < count; d += kLanes) store_part(to + d, load_part<vh>(from + d, count - d), count - d);
}

// The same as it is.
inline void copy_query(const RowBlock& block, int kv_head, int64_t row, uint16_t* to) {
    const int own = block.dim - block.rope_dim;
    copy_channels(query_row(block, kv_head, row), own, to);
    if (block.rope_dim > 0) copy_channels(query_rope_row(block, kv_head, row), block.rope_dim, to + own);
}

}  // namespace
}  // namespace acl_attn::engine
