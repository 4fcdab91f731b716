// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse attention over shared rows: some query tokens with their heads against the tiles that they see. A tile of an
// interval serves all tokens; one of a list, its token's heads.
#pragma once

#include "engine/sparse_few_heads-inl.h"
#include "engine/sparse_finish-inl.h"
#include "engine/sparse_parts-inl.h"
#include "engine/sparse_tiles-inl.h"
#include "engine/sparse_unpack-inl.h"
#include "engine/tile_rows-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand>
class Sparse : Operand::template Rows<T, Sparse<T, Operand>> {
    using Rows = typename Operand::template Rows<T, Sparse<T, Operand>>;
    friend Rows;
    friend BlockRows<Operand, Sparse<T, Operand>>;

public:
    Sparse(const SparseBlock& block, const SparseScratch& scratch)
        : Rows(block.rows, scratch.tile, panels_), sb_(block), ss_(scratch),
          token_rows_(has_lists(block) ? round_up(block.rows.group, kGroup) : block.rows.group),
          panels_(block.rows.dim, block.rows.dim_v, scratch.tile) {}

    void run() {
        const int rows = static_cast<int>(sb_.token_end - sb_.token_begin) * token_rows_;
        this->begin(rows);
        __builtin_memset(is_cut_, 0, sizeof is_cut_);
        StreamTiles ori(sb_, false, s_.zeros), cmp(sb_, true, s_.zeros);
        const void** memory = s_.key_rows;
        const void** other_memory = s_.key_rows + kTileKeys;
        static_assert(2 * kTileKeys <= kStreamSplit, "the address array must hold two tiles");
        const auto advance = [&](SparseTile& tile) {
            return ori.next(tile, memory) || cmp.next(tile, memory);
        };
        SparseTile upcoming;
        bool more = advance(upcoming);
        while (more) {
            tile_ = upcoming;
            const void** reused = memory;
            memory = other_memory;
            other_memory = reused;
            more = advance(upcoming);
            take(more ? &upcoming : nullptr);
        }
        this->end();
        for (int r = 0; r < rows; r++) {
            if (has_row(r)) finish(r);
        }
        complete_stores();
    }

private:
    using Rows::b_;
    using Rows::s_;
    static constexpr int kGroup = Operand::kGroup;

    static bool has_lists(const SparseBlock& b) { return b.ori.indices != nullptr || b.cmp.indices != nullptr; }

    bool has_row(int r) const { return r % token_rows_ < b_.group && r / token_rows_ < tokens(); }
    int tokens() const { return static_cast<int>(sb_.token_end - sb_.token_begin); }
    int64_t token(int r) const { return sb_.token_begin + r / token_rows_; }
    int64_t row(int r) const { return token(r) * b_.group + r % token_rows_; }
    static int head(int) { return 0; }

    // Only asked of the token, if the tile is from its list.
    Interval columns(int64_t token) const {
        if (tile_.token >= 0) return {tile_.key, tile_.key + tile_.end};
        return tile_.is_compressed ? visible_compressed_columns(sb_, token) : visible_original_columns(sb_, token);
    }
    Interval seen(int r) const { return columns(token(r)); }
    int64_t last_token(int g) const { return smaller(token((g + 1) * kGroup - 1), sb_.token_end - 1); }
    Interval group_seen(int g) const { return {columns(token(g * kGroup)).begin, columns(last_token(g)).end}; }
    // What all rows of a group see.
    Interval group_sees(int g) const { return {columns(last_token(g)).begin, columns(token(g * kGroup)).end}; }

    static bool is_masked(int) { return false; }
    void adjust_scores(int r, Interval seen, int begin, int end, float* scores) const {
        if (seen.begin <= tile_.key + begin && seen.end >= tile_.key + end) return;
        hide_scores(b_, row(r), seen, tile_.key, begin, end, scores);
    }

    void take([[maybe_unused]] const SparseTile* upcoming) {
        int first = 0, last = this->groups_;
        if (tile_.token >= 0) {
            const int groups = token_rows_ / kGroup;
            first = static_cast<int>(tile_.token - sb_.token_begin) * groups;
            last = first + groups;
        }
        if (is_sparse_cut(tile_.key)) cut(first * kGroup, last * kGroup);
        panels_.key = tile_.key;
        panels_.begin = tile_.begin;
        panels_.end = tile_.end;
        const Dtype codes = (tile_.is_compressed ? sb_.cmp : sb_.ori).rows.dtype;
        if constexpr (kIsShared<Operand>) {
            panels_.pack(tile_.rows, s_.value_rows, [&](int begin, int end) {
                if (!sb_.packed) return;
                unpack_rows(codes, end - begin, tile_.end - begin, tile_.rows + begin, panels_.row(begin),
                            panels_.row_size());
            });
            this->visit(first, last);
        } else {
            const int count = tile_.end - tile_.begin;
            if (sb_.packed) unpack_rows(codes, count, count, tile_.rows + tile_.begin, ss_.unpacked, b_.dim);
            __builtin_memcpy(s_.value_rows, tile_.rows, sizeof *tile_.rows * kTileKeys);
            panels_.pack(tile_.rows, s_.value_rows);
            Ahead ahead;
            if (upcoming != nullptr) {
                const int64_t bytes = sb_.packed ? formats::kPackedRow.used : 2 * b_.dim;
                ahead.add(upcoming->rows + upcoming->begin, upcoming->end - upcoming->begin, bytes);
            }
            this->visit(first, last, ahead);
        }
    }

    // Rows that see columns on both sides of the tile's begin.
    void cut(int row_begin, int row_end) {
        for (int r = row_begin; r < row_end; r++) {
            if (!has_row(r)) continue;
            const Interval seen = columns(token(r));
            const int64_t first = tile_.token < 0 ? seen.begin : tile_.is_compressed ? sb_.cmp.begin : sb_.ori.begin;
            if (first < tile_.key && tile_.key < seen.end) put_away(r);
        }
    }

    float* total(int r) const { return ss_.total + static_cast<ptrdiff_t>(r) * b_.dim_v; }

    void put_away(int r) {
        const float* part = this->sums(r);
        if (is_cut_[r]) {
            combine_parts(total(r), ss_.total_state[r], part, this->state(r), b_.dim_v);
        } else {
            is_cut_[r] = true;
            __builtin_memcpy(total(r), part, sizeof(float) * static_cast<size_t>(b_.dim_v));
            ss_.total_state[r] = this->state(r);
        }
        this->forget(r);
    }

    void finish(int r) {
        if (is_cut_[r]) {
            put_away(r);
            finish_sparse_row(r, total(r), ss_.total_state[r]);
        } else {
            finish_sparse_row(r, this->sums(r), this->state(r));
        }
    }

    void finish_sparse_row(int r, const float* sums, const RowState& state) const {
        if (tokens() > 1 && finish_whole_row<T, true>(b_, row(r), sums, state)) return;
        if (finish_whole_row<T, false>(b_, row(r), sums, state)) return;
        finish_row(b_, 0, row(r), sums, state);
    }

    const SparseBlock& sb_;
    const SparseScratch& ss_;
    const int token_rows_;  // of a token, whole groups where tiles may be a token's own
    Panels<T, Operand> panels_;
    SparseTile tile_;
    bool is_cut_[kMaxBlockRows];  // `total` holds something of the row
};

// For so few heads rows are not worth packing. What decides must not depend on how many tokens or heads are computed
// together: results would. AMX multiplies so fast that packing is all that is left, and no longer much of it.
template <class Operand>
constexpr int32_t kFewHeads = kIsShared<Operand> ? 2 : 8;

template <class T, class Operand>
void sparse(const SparseBlock& block, const SparseScratch& scratch) {
    if (block.all_heads <= kFewHeads<Operand>) {
        SparseFewHeads<T>(block, scratch).run();
    } else {
        Sparse<T, Operand>(block, scratch).run();
    }
}

}  // namespace
}  // namespace acl_attn::engine
