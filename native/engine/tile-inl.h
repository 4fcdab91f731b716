// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys and values on its way from the cache to panels.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/code_rows-inl.h"
#include "engine/panels-inl.h"
#include "engine/staging-inl.h"

namespace acl_attn::engine {
namespace {

// Goes through the tiles that some row of the block sees: `for (bool more = first(); more; more = next()) pack();`
template <class T, class Operand>
class Tile : public Panels<T, Operand> {
public:
    using Panels<T, Operand>::key;
    using Panels<T, Operand>::begin;
    using Panels<T, Operand>::end;

    Tile(const RowBlock& block, const Scratch& scratch)
        : Panels<T, Operand>(block.dim, block.dim_v, scratch), b_(block), s_(scratch), staging_(block, scratch),
          span_(visible_keys(block, block.row_begin, block.row_end)) {}

    bool first() {
        if (span_.empty()) return false;
        key = span_.begin / kTile * kTile;
        locate(b_, span_, key, key);
        return enter();
    }

    // The addresses of the next tile were found by ahead(), which must have been called.
    bool next() {
        key += kTile;
        return enter();
    }

    // Of one of the block's heads.
    void pack([[maybe_unused]] int head, [[maybe_unused]] Ahead& ahead) {
        const void **keys = key_rows(key), **values = value_rows(key);
        if (head == 0) staging_.stage(key + begin, end - begin, keys + begin, values + begin);
        if constexpr (Operand::kKeysOnLeft) {
            Panels<T, Operand>::pack(keys, head * b_.key.head_stride, values, head * b_.value.head_stride, ahead);
        } else {
            Panels<T, Operand>::pack(keys, values);
        }
    }

    // Finds the rows of the next tile, or of the first one of the thread's next block. With its last tiles a block also
    // asks for what comes between the two: its results, for which stores wait, too, and the next queries.
    Ahead ahead() const {
        Ahead ahead;
        const int64_t next = key + kTile;
        if (next < span_.end) add_tile(b_, span_, next, ahead);
        const int64_t last = (span_.end - 1) / kTile;
        const int64_t tiles = smaller(last - span_.begin / kTile + 1, kRowTiles);
        const Share share = {static_cast<int>(key / kTile - last + tiles - 1), static_cast<int>(tiles)};
        if (share.index >= 0) add_results(share, ahead);
        if (b_.upcoming == nullptr) return ahead;
        const RowBlock& block = *b_.upcoming;
        if (share.index >= 0) add_queries(block, share, ahead);
        if (next < span_.end) return ahead;
        const Interval span = visible_keys(block, block.row_begin, block.row_end);
        if (!span.empty()) add_tile(block, span, span.begin / kTile * kTile, ahead);
        return ahead;
    }

private:
    static constexpr int kTile = Operand::kTile;

    bool enter() {
        begin = begin_of(span_, key);
        end = end_of(span_, key);
        return key < span_.end;
    }

    static int begin_of(Interval span, int64_t tile) { return static_cast<int>(larger(span.begin - tile, 0)); }
    static int end_of(Interval span, int64_t tile) { return static_cast<int>(smaller(span.end - tile, kTile)); }

    // This tile's and the next one's addresses lie side by side.
    static_assert(2 * kTile <= kStreamSplit, "the address arrays must hold two tiles");
    const void** key_rows(int64_t tile) const { return s_.key_rows + tile % (2 * kTile); }
    const void** value_rows(int64_t tile) const { return s_.value_rows + tile % (2 * kTile); }

    // A tile of a block, with addresses where the tile after this one has them.
    void add_tile(const RowBlock& block, Interval span, int64_t tile, Ahead& ahead) const {
        const int64_t place = key + kTile;
        locate(block, span, tile, place);
        const KvView &k = block.key, &v = block.value;
        if (k.chunk < k.dim || v.chunk < v.dim) return;
        const int first = begin_of(span, tile), count = end_of(span, tile) - first;
        // Heads that are computed together lie side by side.
        ahead.add(key_rows(place) + first, count, block.kv_heads * bytes_of(k.dtype, k.dim));
        if (!block.value_is_key) ahead.add(value_rows(place) + first, count, block.kv_heads * bytes_of(v.dtype, v.dim));
    }

    // One of `count` parts of a block's rows.
    struct Share {
        int index, count;
    };
    static constexpr int kRowTiles = 4;  // that bring rows: requests at once would stall the products

    // What the rows have in a tensor of the query's layout, `bytes` each.
    static void add_rows(const RowBlock& block, Share share, const void* tensor, int64_t token_stride,
                         int64_t head_stride, int64_t bytes, Ahead& ahead) {
        const int64_t first = block.row_begin / block.group, count = (block.row_end - 1) / block.group - first + 1;
        const int64_t begin = count * share.index / share.count, end = count * (share.index + 1) / share.count;
        ahead.add(static_cast<const char*>(tensor) + (first + begin) * token_stride, token_stride,
                  static_cast<int>(end - begin), head_stride, block.kv_heads * block.group, bytes);
    }

    static void add_queries(const RowBlock& block, Share share, Ahead& ahead) {
        const int64_t size = static_cast<int64_t>(sizeof *block.query);
        add_rows(block, share, block.query, block.query_token_stride * size, block.query_head_stride * size,
                 (block.dim - block.rope_dim) * size, ahead);
    }

    void add_results(Share share, Ahead& ahead) const {
        const RowSink& sink = b_.sink;
        if (sink.partial_out != nullptr) return;
        add_rows(b_, share, sink.out, sink.out_token_stride, sink.out_head_stride, bytes_of(sink.out_dtype, b_.dim_v),
                 ahead);
    }

    // Finds a tile's rows; columns outside the span are zeros.
    void locate(const RowBlock& block, Interval span, int64_t tile, int64_t place) const {
        const void **keys = key_rows(place), **values = value_rows(place);
        const int from = begin_of(span, tile), to = end_of(span, tile);
        if (from > 0 || to < kTile) {
            for (int k = 0; k < kTile; k++) keys[k] = values[k] = s_.zeros;
        }
        locate_rows(block.key, block.key_addition.prefix, block.prefix_len, tile + from, tile + to, keys + from);
        locate_rows(block.value, block.value_addition.prefix, block.prefix_len, tile + from, tile + to, values + from);
    }

    const RowBlock& b_;
    const Scratch& s_;
    std::conditional_t<Operand::kTakesCodes, CodeRows, KvStaging<T>> staging_;
    const Interval span_;  // keys that some row of the block sees
};

}  // namespace
}  // namespace acl_attn::engine
