// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse attention of few heads: a token's rows go through registers where they lie, as keys and then, still in the
// first-level cache, as values, for all heads of the token. Nothing is packed, which would cost more than the products.
// A token is computed by itself, so that all rows that are looked at are seen by it: none need be hidden or set aside.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/softmax-inl.h"
#include "engine/sparse_parts-inl.h"
#include "engine/sparse_tiles-inl.h"
#include "engine/sparse_unpack-inl.h"
#include "engine/stream-inl.h"

namespace acl_attn::engine {
namespace {

template <class T>
class SparseFewHeads {
    using Piece = Stretch<T>;

public:
    SparseFewHeads(const SparseBlock& block, const SparseScratch& scratch)
        : b_(block), s_(scratch.tile), ss_(scratch), dim_(block.rows.dim), heads_(block.rows.group) {}

    void run() {
        const int64_t end = b_.token_end;
        for (int64_t token = b_.token_begin; token < end; token++) {
            b_.token_begin = token;
            b_.token_end = token + 1;
            for (int h = 0; h < heads_; h++) load_query(h);
            compute_token();
        }
    }

private:
    // Rows between two updates of the running maxima, on a grid: they stay in the first-level cache.
    static constexpr int kChunk = 32;
    static constexpr int kScores = kChunk + 16;  // from a head's scores to the next one's
    static constexpr int kAheadRows = 16;

    struct Tiles {
        StreamTiles ori, cmp;
        bool next(SparseTile& tile, const void** rows) { return ori.next(tile, rows) || cmp.next(tile, rows); }
    };

    void load_query(int h) {
        float* query = s_.query + h * dim_;
        widen_query(b_.rows, 0, b_.token_begin * heads_ + h, query);
        for (int d = 0; d < dim_; d += Piece::kElements) Piece::to_own_order(query + d);
    }

    void compute_token() {
        Tiles tiles = {StreamTiles(b_, false, s_.zeros), StreamTiles(b_, true, s_.zeros)};
        bool more = true;
        for (bool is_first = true; more; is_first = false) {
            Tiles after = tiles;
            more = add_part(after, 1.0f);
            // Not fp16, which does not hold finite values whose sum overflows.
            if (kHasHuge<T> && is_suspect()) {
                after = tiles;
                more = add_part(after, kHugeHeadroom);
            }
            tiles = after;
            for (int h = 0; h < heads_; h++) put_away(h, is_first);
        }
        for (int h = 0; h < heads_; h++) {
            finish_row(b_.rows, 0, b_.token_begin * heads_ + h, total(h), ss_.total_state[h]);
        }
    }

    // The tiles up to a cut, which stays the next one; whether there is one. `headroom` is multiplied to probabilities.
    bool add_part(Tiles& tiles, float headroom) {
        for (int h = 0; h < heads_; h++) state_[h] = {-kInfinity, 0.0f, headroom};
        __builtin_memset(s_.out, 0, sizeof(float) * static_cast<size_t>(heads_) * dim_);
        SparseTile tile, last;
        for (bool is_first = true;; is_first = false, last = tile) {
            const Tiles before = tiles;
            if (!tiles.next(tile, s_.key_rows)) return false;
            if (!is_first && tile.is_compressed == last.is_compressed && is_sparse_cut(tile.key)) {
                tiles = before;
                return true;
            }
            add_tile(tile);
        }
    }

    void add_tile(const SparseTile& tile) {
        const Dtype codes = (tile.is_compressed ? b_.cmp : b_.ori).rows.dtype;
        // Rows of lists are scattered in memory. There reads of keys, many rows at a time, fill what the core can keep
        // open, and what asks ahead only waits for a place among them.
        is_ahead_ = !b_.packed && tile.token < 0;
        if (is_ahead_) look_ahead(tile);
        for (int k = tile.begin; k < tile.end; k = round_down(k, kChunk) + kChunk) {
            const int stop = round_down(k, kChunk) + kChunk;
            const int end = stop < tile.end ? stop : tile.end;
            if (b_.packed) unpack_rows(codes, end - k, tile.end - k, tile.rows + k, ss_.unpacked, dim_);
            add_rows(tile.rows + k, k % kChunk, end - k);
        }
    }

    void look_ahead(const SparseTile& tile) {
        ReadAhead::Rows rows = {};
        rows.keys = tile.rows + tile.begin;
        rows.key_bytes = dim_ * static_cast<int64_t>(sizeof(typename T::Element));
        rows.count = rows.first_tile = tile.end - tile.begin;
        ahead_ = ReadAhead(rows, kAheadRows);
    }

    float* scores(int h) const { return s_.scores + h * kScores; }
    float* out(int h) const { return s_.out + h * dim_; }
    float* total(int h) const { return ss_.total + h * dim_; }

    // Rows [begin, begin + count) of a chunk.
    void add_rows(const void* const* rows, int begin, int count) {
        const int at_once = heads_ % 4 == 0 ? kLanes / 4 : kLanes;
        for (int k = 0; k < count; k += at_once) {
            const int end = k + at_once < count ? k + at_once : count;
            StreamRows keys = {rows, 0, end, is_ahead_ ? &ahead_ : nullptr};
            for_row_blocks(heads_, [&](int h, auto block_rows) {
                constexpr int kRows = decltype(block_rows)::value;
                for (int first = k; first < end; first += kLanes / kRows) {
                    dot_keys<T, kRows>(s_.query + h * dim_, dim_, dim_, keys, first, b_.rows.scale,
                                       scores(h) + begin + first, kScores);
                }
                keys.ahead = nullptr;
            });
        }
        for (int h = 0; h < heads_; h++) weigh(h, begin, begin + count);
        const StreamRows values = {rows, 0, count, nullptr};
        for_row_blocks(heads_, [&](int h, auto block_rows) {
            add_all_columns<T, decltype(block_rows)::value>(scores(h) + begin, kScores, values, dim_, out(h), dim_);
        });
    }

    void weigh(int h, int begin, int end) {
        float* x = scores(h);
        const int first = round_down(begin, kLanes), last = round_up(end, kLanes);
        for (int c = first; c < begin; c++) x[c] = -kInfinity;
        for (int c = end; c < last; c++) x[c] = -kInfinity;
        RowState& state = state_[h];
        const SoftmaxStep step = softmax_step(x, first, last, state.max);
        state.max = step.max;
        state.sum = state.sum * step.rescale + step.sum;
        if (state.headroom != 1.0f) multiply(x + first, last - first, state.headroom);
        if (step.rescale != 1.0f) multiply(out(h), dim_, step.rescale);
    }

    static void multiply(float* x, int count, float factor) {
        for (int c = 0; c < count; c += kLanes) store(x + c, load<vf>(x + c) * splat(factor));
    }

    bool is_suspect() const {
        vi suspect = {};
        for (int c = 0; c < heads_ * dim_; c += kLanes) {
            suspect |= (as_int(load<vf>(s_.out + c)) & 0x7f800000) == 0x7f800000;
        }
        return any(suspect);
    }

    void put_away(int h, bool is_first) {
        for (int d = 0; d < dim_; d += Piece::kElements) Piece::to_memory_order(out(h) + d);
        if (is_first) {
            __builtin_memcpy(total(h), out(h), sizeof(float) * static_cast<size_t>(dim_));
            ss_.total_state[h] = state_[h];
        } else {
            combine_parts(total(h), ss_.total_state[h], out(h), state_[h], dim_);
        }
    }

    SparseBlock b_;  // of one token at a time
    const Scratch& s_;
    const SparseScratch& ss_;
    const int dim_, heads_;
    RowState state_[kStreamRows];  // more heads than are few
    ReadAhead ahead_;
    bool is_ahead_ = false;
};

}  // namespace
}  // namespace acl_attn::engine
