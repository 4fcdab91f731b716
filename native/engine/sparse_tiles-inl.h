// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rows of the streams a sparse block's tokens see, and in which tiles they come.
#pragma once

#include "engine/rows-inl.h"
#include "engine/sparse_block.h"

namespace acl_attn::engine {
namespace {

// The formula of sparse_schedule.h stands here once more for the reason given in rows-inl.h.
inline int64_t visible_compressed(const SparseBlock& b, int64_t token) {
    const int64_t stands_for = token + b.cmp_shift;  // original tokens that end where this one does
    return stands_for <= 0 ? 0 : smaller(stands_for / b.cmp_ratio, b.cmp.len);
}

// Columns of a stream without lists that a token sees.
inline Interval visible_original_columns(const SparseBlock& b, int64_t token) {
    return {larger(b.ori.begin, token + b.band_first), smaller(b.ori.end, token + b.band_last + 1)};
}
inline Interval visible_compressed_columns(const SparseBlock& b, int64_t token) {
    return {b.cmp.begin, smaller(b.cmp.end, visible_compressed(b, token))};
}

// Whether a tile begins where the stream is cut.
inline bool is_sparse_cut(int64_t key) {
    if (key == 0 || key % kSparseSplitUnit != 0) return false;
    const uint64_t unit = static_cast<uint64_t>(key / kSparseSplitUnit);
    const int exponent = 63 - __builtin_clzll(unit);
    return exponent <= 3 || (unit & ((uint64_t{1} << (exponent - 3)) - 1)) == 0;
}

struct SparseTile {
    bool is_compressed = false;
    int64_t token = -1;        // whose list it is from; -1: for all tokens of the block
    int64_t key = 0;           // column 0, a multiple of kTileKeys: a row of the stream, or a place in the list
    int begin = 0, end = 0;    // columns that some token sees
    const void** rows = nullptr;  // [kTileKeys], zeros outside [begin, end)
};

// The tiles of one stream, in order.
class StreamTiles {
public:
    StreamTiles(const SparseBlock& block, bool is_compressed, const void* zeros)
        : b_(&block), v_(is_compressed ? &block.cmp : &block.ori), zeros_(zeros), is_compressed_(is_compressed) {
        if (v_->rows.base == nullptr) return;
        if (v_->indices != nullptr) {
            token_ = b_->token_begin;
            enter_list();
            return;
        }
        // Both ends grow with the token.
        next_ = columns(b_->token_begin).begin;
        end_ = columns(b_->token_end - 1).end;
    }

    // `rows`: memory of the tile's addresses.
    bool next(SparseTile& tile, const void** rows) {
        tile.is_compressed = is_compressed_;
        tile.rows = rows;
        if (v_->rows.base == nullptr) return false;
        return v_->indices != nullptr ? next_of_list(tile) : next_of_interval(tile);
    }

private:
    Interval columns(int64_t token) const {
        return is_compressed_ ? visible_compressed_columns(*b_, token) : visible_original_columns(*b_, token);
    }

    bool next_of_interval(SparseTile& tile) {
        if (next_ >= end_) return false;
        tile.token = -1;
        tile.key = next_ / kTileKeys * kTileKeys;
        tile.begin = static_cast<int>(next_ - tile.key);
        tile.end = static_cast<int>(smaller(end_ - tile.key, kTileKeys));
        locate_rows(v_->rows, next_, tile.key + tile.end, tile.rows + tile.begin);
        fill(tile);
        next_ = tile.key + kTileKeys;
        return true;
    }

    void enter_list() {
        if (token_ >= b_->token_end) return;
        visible_ = is_compressed_ ? visible_compressed(*b_, token_) : v_->len;
        next_ = 0;
        end_ = smaller(v_->topk, visible_);
        if (v_->topk_length != nullptr) end_ = smaller(end_, v_->topk_length[token_]);
        place_ = 0;
    }

    // next_ and end_ count the list's entries, place_ those of them that name a visible row.
    bool next_of_list(SparseTile& tile) {
        for (; token_ < b_->token_end; token_++, enter_list()) {
            const int32_t* list = v_->indices + token_ * v_->topk;
            int filled = 0;
            tile.key = larger(place_, v_->begin);
            while (next_ < end_ && place_ < v_->end && filled < kTileKeys) {
                const int32_t row = list[next_++];
                if (row < 0) end_ = next_;
                if (row < 0 || row >= visible_) continue;
                if (place_++ >= v_->begin) tile.rows[filled++] = row_address(v_->rows, row);
            }
            if (filled == 0) continue;
            tile.token = token_;
            tile.begin = 0;
            tile.end = filled;
            fill(tile);
            return true;
        }
        return false;
    }

    void fill(SparseTile& tile) const {
        for (int k = 0; k < tile.begin; k++) tile.rows[k] = zeros_;
        for (int k = tile.end; k < kTileKeys; k++) tile.rows[k] = zeros_;
    }

    const SparseBlock* b_;
    const SparseView* v_;
    const void* zeros_;
    bool is_compressed_;
    int64_t token_ = 0;
    int64_t next_ = 0, end_ = 0;
    int64_t place_ = 0, visible_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
