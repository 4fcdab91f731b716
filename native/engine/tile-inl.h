// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys and values on its way from the cache to panels.
#pragma once

#include "engine/ahead-inl.h"
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
        locate(key);
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

    // Finds the next tile's rows.
    Ahead ahead() const {
        const int64_t next = key + kTileKeys;
        if (next >= span_.end) return {};
        locate(next);
        const KvView &k = b_.key, &v = b_.value;
        if (k.chunk < k.dim || v.chunk < v.dim) return {};
        return {key_rows(next),           bytes_of(k.dtype, k.dim), b_.value_is_key ? nullptr : value_rows(next),
                bytes_of(v.dtype, v.dim), begin_of(next),           end_of(next)};
    }

private:
    bool enter() {
        begin = begin_of(key);
        end = end_of(key);
        return key < span_.end;
    }

    int begin_of(int64_t tile) const { return static_cast<int>(larger(span_.begin - tile, 0)); }
    int end_of(int64_t tile) const { return static_cast<int>(smaller(span_.end - tile, kTileKeys)); }

    // This tile's and the next one's addresses lie side by side.
    static_assert(2 * kTileKeys <= kStreamSplit, "the address arrays must hold two tiles");
    const void** key_rows(int64_t tile) const { return s_.key_rows + tile % (2 * kTileKeys); }
    const void** value_rows(int64_t tile) const { return s_.value_rows + tile % (2 * kTileKeys); }

    // Finds a tile's rows; columns outside the span are zeros.
    void locate(int64_t tile) const {
        const void **keys = key_rows(tile), **values = value_rows(tile);
        const int from = begin_of(tile), to = end_of(tile);
        if (from > 0 || to < kTileKeys) {
            for (int k = 0; k < kTileKeys; k++) keys[k] = values[k] = s_.zeros;
        }
        locate_rows(b_.key, b_.key_addition.prefix, b_.prefix_len, tile + from, tile + to, keys + from);
        locate_rows(b_.value, b_.value_addition.prefix, b_.prefix_len, tile + from, tile + to, values + from);
    }

    const RowBlock& b_;
    const Scratch& s_;
    KvStaging<T> staging_;
    const Interval span_;  // keys that some row of the block sees
};

}  // namespace
}  // namespace acl_attn::engine
