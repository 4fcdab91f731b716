// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of keys and values on its way from the cache to panels.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/pack-inl.h"
#include "engine/rows-inl.h"
#include "engine/staging-inl.h"

namespace acl_attn::engine {
namespace {

// Goes through the tiles that some row of the block sees: `for (bool more = first(); more; more = next()) pack();`
template <class T, class Operand>
class Tile {
public:
    int64_t key = 0;            // of column 0; a multiple of kTileKeys
    int begin = 0, end = 0;     // columns that some row of the block sees
    bool exceptional = false;   // some value was set aside (exceptional-inl.h)
    const int steps;            // of a key panel

    Tile(const RowBlock& block, const Scratch& scratch)
        : steps(steps_of(block.dim, Operand::kDepth)), b_(block), s_(scratch), staging_(block, scratch),
          span_(visible_keys(block, block.row_begin, block.row_end)) {}

    bool first() {
        if (span_.empty()) return false;
        key = span_.begin / kTileKeys * kTileKeys;
        locate(key);
        return enter();
    }

    // The addresses of the next tile were found by Ahead.
    bool next() {
        key += kTileKeys;
        return enter();
    }

    void pack() {
        const void **keys = key_rows(key), **values = value_rows(key);
        staging_.stage(key + begin, end - begin, keys + begin, values + begin);
        constexpr bool tiny_matters = Operand::kDepth == 2;
        exceptional = set_aside<T, tiny_matters>(values, begin, end, b_.dim_v, s_.zeros, s_.value_classes,
                                                 s_.value_originals);
        for (int c = round_down(begin, kNr); c < round_up(end, kLanes); c += kLanes) {
            pack_keys<T, Operand>(keys + c, b_.dim, key_panel(c / kNr), c % kNr);
        }
        pack_values<Operand, T>(values, round_down(begin, kLanes), round_up(end, kLanes), b_.dim_v,
                                value_panel_size(), s_.value_panels);
    }

    float* key_panel(int p) const { return s_.key_panels + static_cast<ptrdiff_t>(p) * steps * kNr; }
    static constexpr int value_panel_size() { return kTileKeys / Operand::kDepth * kNr; }

    // Finds the next tile's rows and brings them close, a few at a time between products, so that packing does not wait
    // for memory.
    class Ahead {
    public:
        // `calls`: about how often advance() will be called.
        Ahead(const Tile& tile, int calls) {
            const int64_t key = tile.key + kTileKeys;
            if (key >= tile.span_.end) return;
            tile.locate(key);
            const KvView &k = tile.b_.key, &v = tile.b_.value;
            if (k.chunk < k.dim || v.chunk < v.dim) return;
            key_bytes_ = bytes_of(k.dtype, k.dim);
            value_bytes_ = tile.b_.value_is_key ? 0 : bytes_of(v.dtype, v.dim);
            keys_ = tile.key_rows(key);
            values_ = tile.value_rows(key);
            next_ = tile.begin_of(key);
            end_ = tile.end_of(key);
            step_ = (end_ - next_ + calls - 1) / calls;
        }

        __attribute__((always_inline)) void advance() {
            constexpr int line = 64;
            for (int stop = next_ + step_; next_ < stop && next_ < end_; next_++) {
                const char* k = static_cast<const char*>(keys_[next_]);
                const char* v = static_cast<const char*>(values_[next_]);
                for (int64_t d = 0; d < key_bytes_; d += line) prefetch_to_l2(k + d);
                for (int64_t d = 0; d < value_bytes_; d += line) prefetch_to_l2(v + d);
            }
        }

    private:
        const void** keys_ = nullptr;
        const void** values_ = nullptr;
        int64_t key_bytes_ = 0, value_bytes_ = 0;
        int next_ = 0, end_ = 0, step_ = 0;
    };

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
