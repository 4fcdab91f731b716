// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sparse_schedule.h"

#include <algorithm>

#include "ascendc/launch/schedule.h"
#include "engine/sparse_block.h"
#include "engine/sparse_schedule.h"

namespace acl_attn::ascendc {
namespace {

using engine::SparseProblem;
using engine::SparseRange;
using engine::SparseSequence;
using engine::SparseShare;
using engine::SparseShares;

bool has_lists(const SparseProblem& p) { return p.ori.topk > 0 || p.cmp.topk > 0; }

int64_t tiles_of(int64_t rows) { return (rows + kSparseTileRows - 1) / kSparseTileRows; }

// Places where what a row block sees is cut, the host engine's: few, as they must fit the workspace that phase one asks
// for when it only knows how long streams may become.
int64_t parts_of(int64_t columns) {
    int64_t parts = 1;
    while (engine::sparse_split_begin(parts) < columns) ++parts;
    return parts;
}

// Blocks of rows that share all columns: tiles of one token's heads with lists, else tiles of the sequence.
struct RowTile {
    int64_t sequence, row_begin, row_end;
    SparseRange ori, cmp;

    int64_t columns() const { return ori.end - ori.begin + cmp.end - cmp.begin; }
};

SparseRange listed(const engine::SparsePool& pool, SparseRange seen, int64_t len) {
    if (pool.topk == 0) return seen.begin < seen.end ? seen : SparseRange{};
    return {0, std::min(pool.topk, len)};
}

// An item: of the `parts` that its rows' columns are cut into, number `part`.
struct Piece {
    int64_t words[kSparseItemWords];
    int64_t part, parts;
};

class Cutter {
public:
    Cutter(const SparseProblem& problem, SparseSchedule& to) : p_(problem), to_(to) {}

    void add_sequence(const SparseSequence& s, int64_t number) {
        const int64_t heads = p_.heads;
        const int64_t rows = s.q_len * heads;
        const int64_t step = has_lists(p_) ? heads : std::max<int64_t>(rows, 1);  // rows that are cut on their own
        for (int64_t first = 0; first < rows; first += step) {
            for (int64_t row = first; row < first + step; row += kSparseTileRows) {
                const int64_t end = std::min(row + kSparseTileRows, first + step);
                // Nothing else of this sequence could keep other cores busy.
                add_tile(tile_at(s, number, row, end), rows == step && (has_lists(p_) || rows <= kSparseTileRows));
            }
        }
        if (s.pad_after > 0) to_.clears.push_back(number);
    }

    const std::vector<Piece>& pieces() const { return pieces_; }

private:
    RowTile tile_at(const SparseSequence& s, int64_t number, int64_t begin, int64_t end) const {
        const int64_t last = (end - 1) / p_.heads;
        RowTile tile = {number, begin, end, {}, {}};
        if (p_.ori.present) {
            const geometry::Columns seen =
                geometry::columns_between(s.ori_band, begin / p_.heads, last, s.ori.len);
            tile.ori = listed(p_.ori, {seen.begin, seen.end}, s.ori.len);
        }
        const int64_t visible = engine::visible_compressed(p_, s, last);
        if (p_.cmp.present) tile.cmp = listed(p_.cmp, {0, visible}, visible);
        return tile;
    }

    void add_tile(const RowTile& tile, bool is_alone) {
        const int64_t parts = is_alone ? parts_of(tile.columns()) : 1;
        const int64_t rows = tile.row_end - tile.row_begin;
        if (parts == 1) return add_piece(tile, tile.ori, tile.cmp, -1, 0, 1);
        const int64_t words[kMergeWords] = {tile.sequence, 0, tile.row_begin, tile.row_end, parts, to_.partial_rows};
        static_assert(kMergeKvHead == 1 && kMergePartialRow == kMergeWords - 1, "in the order of MergeWord");
        to_.merges.insert(to_.merges.end(), words, words + kMergeWords);
        const int64_t ori = tile.ori.end - tile.ori.begin;
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t begin = engine::sparse_split_begin(part);
            const int64_t end = std::min(engine::sparse_split_begin(part + 1), tile.columns());
            add_piece(tile, {tile.ori.begin + std::min(begin, ori), tile.ori.begin + std::min(end, ori)},
                      {std::max<int64_t>(begin - ori, 0), std::max<int64_t>(end - ori, 0)}, to_.partial_rows, part,
                      parts);
            to_.partial_rows += rows;
        }
    }

    void add_piece(const RowTile& tile, SparseRange ori, SparseRange cmp, int64_t partial_row, int64_t part,
                   int64_t parts) {
        pieces_.push_back({{}, part, parts});
        int64_t* words = pieces_.back().words;
        words[kSparseItemSequence] = tile.sequence;
        words[kSparseItemRowBegin] = tile.row_begin;
        words[kSparseItemRowEnd] = tile.row_end;
        words[kSparseItemOriBegin] = ori.begin;
        words[kSparseItemOriEnd] = ori.end;
        words[kSparseItemCmpBegin] = cmp.begin;
        words[kSparseItemCmpEnd] = cmp.end;
        words[kSparseItemPartialRow] = partial_row;
    }

    const SparseProblem& p_;
    SparseSchedule& to_;
    std::vector<Piece> pieces_;
};

int64_t steps_of(int64_t columns) { return (columns + kKeysOfStep - 1) / kKeysOfStep; }

// What an item costs, in steps; its rows' input and output count as one more.
int64_t cost(const int64_t* item) {
    return steps_of(item[kSparseItemOriEnd] - item[kSparseItemOriBegin]) +
           steps_of(item[kSparseItemCmpEnd] - item[kSparseItemCmpBegin]) + 1;
}

// Which core a piece goes to: that of its middle row, head and column.
class ByShares {
public:
    ByShares(const SparseProblem& problem, const SparseShares& shares) : heads_(problem.heads), shares_(shares) {}

    // The cores from 0 on that take part.
    int32_t cores() const {
        int32_t cores = 0;
        for (const SparseShare& share : shares_) cores = std::max(cores, share.core + share.copies);
        return cores;
    }

    int32_t core_of(const Piece& piece) const {
        const int64_t* item = piece.words;
        const int64_t row = (item[kSparseItemRowBegin] + item[kSparseItemRowEnd] - 1) / 2;
        const auto is_before = [&](const SparseShare& share, int64_t at) {
            if (share.sequence != item[kSparseItemSequence]) return share.sequence < item[kSparseItemSequence];
            if (share.row_end <= at) return true;
            return share.row_begin <= at && share.block_end * 2 * piece.parts <= (2 * piece.part + 1) * share.blocks;
        };
        const auto share = std::lower_bound(shares_.begin(), shares_.end(), row, is_before);
        if (share == shares_.end()) return 0;  // it sees nothing, and lists need not have it
        return share->core + static_cast<int32_t>(row % heads_ * share->copies / heads_);
    }

private:
    const int64_t heads_;
    const SparseShares& shares_;
};

// Takes the pieces over, in the order of their cores.
void hand_out(SparseSchedule& to, const std::vector<Piece>& pieces, const ByShares& by) {
    std::vector<std::vector<const Piece*>> of_core(static_cast<size_t>(by.cores()));
    for (const Piece& piece : pieces) of_core[static_cast<size_t>(by.core_of(piece))].push_back(&piece);
    to.core_items = {0};
    for (const std::vector<const Piece*>& own : of_core) {
        for (const Piece* piece : own) to.items.insert(to.items.end(), piece->words, piece->words + kSparseItemWords);
        to.core_items.push_back(to.item_count());
    }
}

void hand_out(SparseSchedule& to, const std::vector<Piece>& pieces) {
    std::vector<int64_t> costs;
    for (const Piece& piece : pieces) {
        costs.push_back(cost(piece.words));
        to.items.insert(to.items.end(), piece.words, piece.words + kSparseItemWords);
    }
    to.core_items = share_out(costs, to.cores);
}

}  // namespace

SparseScheduleBounds bounds_of(const SparseProblem& p) {
    const int64_t tokens_of_tile = kSparseTileRows;  // at most; each moves the window on by one row
    const int64_t seen = (p.ori.present ? p.ori.max_seen + tokens_of_tile : 0) + (p.cmp.present ? p.cmp.max_seen : 0);
    const int64_t parts = parts_of(seen);
    const int64_t rows = p.max_tokens * p.heads;
    const int64_t alone = std::min(p.max_sequences, p.max_tokens);
    SparseScheduleBounds bounds;
    bounds.items = has_lists(p) ? p.max_tokens * tiles_of(p.heads) : tiles_of(rows) + p.max_sequences;
    if (parts == 1) return bounds;
    bounds.merges = alone * (has_lists(p) ? tiles_of(p.heads) : 1);
    bounds.items += bounds.merges * (parts - 1);
    bounds.partial_rows = std::min(rows, alone * (has_lists(p) ? p.heads : kSparseTileRows)) * parts;
    return bounds;
}

SparseSchedule make_schedule(const SparseProblem& problem, const SparseSequence* sequences, int64_t count,
                             const SparseShares* shares, const Chip& chip) {
    SparseSchedule to;
    Cutter cutter(problem, to);
    for (int64_t i = 0; i < count; ++i) cutter.add_sequence(sequences[i], i);
    const std::vector<Piece>& pieces = cutter.pieces();
    if (pieces.empty() && to.clears.empty()) return to;
    if (shares != nullptr && !shares->empty()) {
        const ByShares by(problem, *shares);
        to.is_by_shares = by.cores() <= chip.cores;
        if (to.is_by_shares) {
            to.cores = by.cores();
            hand_out(to, pieces, by);
            return to;
        }
    }
    to.cores = static_cast<int32_t>(std::clamp<int64_t>(static_cast<int64_t>(pieces.size()), 1, chip.cores));
    hand_out(to, pieces);
    return to;
}

}  // namespace acl_attn::ascendc
