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
        key = span_.begin / kTileKeys * kTileKeys;
        locate(b_, span_, key, key);
        return enter();
    }

    // The addresses of the next tile were found by ahead().
    bool next() {
        key += kTileKeys;
        return enter();
    }

    void pack() {
        const void **keys = key_rows(key), **values = value_rows(key);
        staging_.stage(key + begin, end - begin, keys + begin, values + begin);
        Panels<T, Operand>::pack(keys, values);
    }

    // Finds the rows of the next tile, or of the first one of the thread's next block.
    Ahead ahead() const {
        const int64_t next = key + kTileKeys;
        if (next < span_.end) return ahead(b_, span_, next);
        if (b_.upcoming == nullptr) return {};
        const Interval span = visible_keys(*b_.upcoming, b_.upcoming->row_begin, b_.upcoming->row_end);
        if (span.empty()) return {};
        return ahead(*b_.upcoming, span, span.begin / kTileKeys * kTileKeys);
    }

private:
    bool enter() {
        begin = begin_of(span_, key);
        end = end_of(span_, key);
        return key < span_.end;
    }

    static int begin_of(Interval span, int64_t tile) { return static_cast<int>(larger(span.begin - tile, 0)); }
    static int end_of(Interval span, int64_t tile) { return static_cast<int>(smaller(span.end - tile, kTileKeys)); }

    // This tile's and the next one's addresses lie side by side.
    static_assert(2 * kTileKeys <= kStreamSplit, "the address arrays must hold two tiles");
    const void** key_rows(int64_t tile) const { return s_.key_rows + tile % (2 * kTileKeys); }
    const void** value_rows(int64_t tile) const { return s_.value_rows + tile % (2 * kTileKeys); }

    // A tile of a block, with addresses where the tile after this one has them.
    Ahead ahead(const RowBlock& block, Interval span, int64_t tile) const {
        const int64_t place = key + kTileKeys;
        locate(block, span, tile, place);
        const KvView &k = block.key, &v = block.value;
        if (k.chunk < k.dim || v.chunk < v.dim) return {};
        return {key_rows(place),          bytes_of(k.dtype, k.dim), block.value_is_key ? nullptr : value_rows(place),
                bytes_of(v.dtype, v.dim), begin_of(span, tile),     end_of(span, tile)};
    }

    // Finds a tile's rows; columns outside the span are zeros.
    void locate(const RowBlock& block, Interval span, int64_t tile, int64_t place) const {
        const void **keys = key_rows(place), **values = value_rows(place);
        const int from = begin_of(span, tile), to = end_of(span, tile);
        if (from > 0 || to < kTileKeys) {
            for (int k = 0; k < kTileKeys; k++) keys[k] = values[k] = s_.zeros;
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
