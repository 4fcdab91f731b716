// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows: keys and values are packed once per tile and used by all rows of the block.
#pragma once

#include "engine/bias-inl.h"
#include "engine/finish-inl.h"
#include "engine/tile-inl.h"
#include "engine/tile_rows-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand>
class Prefill : TileRows<T, Operand, Prefill<T, Operand>> {
    using Rows = TileRows<T, Operand, Prefill<T, Operand>>;
    friend Rows;

public:
    Prefill(const RowBlock& block, const Scratch& scratch)
        : Rows(block, scratch, tile_), rows_(static_cast<int>(block.row_end - block.row_begin)),
          tile_(block, scratch) {}

    void run() {
        this->begin(rows_);
        for (bool more = tile_.first(); more; more = tile_.next()) {
            tile_.pack();
            Ahead ahead = tile_.ahead();
            this->visit(0, this->groups_, ahead);
        }
        this->end();
        for (int r = 0; r < rows_; r++) {
            this->join_aside(r);
            finish_row(b_, 0, row(r), s_.out + r * this->ldo_, this->state(r));
        }
    }

private:
    using Rows::b_;
    using Rows::s_;

    bool has_row(int r) const { return r < rows_; }
    int64_t row(int r) const { return b_.row_begin + r; }
    Interval seen(int r) const { return visible_keys(b_, row(r)); }
    Interval group_seen(int g) const {
        return visible_keys(b_, row(g * kMr), smaller(row((g + 1) * kMr), b_.row_end));
    }

    void adjust_scores(int r, Interval seen, int begin, int end, float* scores) const {
        if (b_.bias.kind != BiasKind::none) add_bias(b_, 0, row(r), seen, tile_.key, begin, end, scores);
        if (b_.mask != nullptr || seen.begin > tile_.key + begin || seen.end < tile_.key + end) {
            hide_scores(b_, row(r), seen, tile_.key, begin, end, scores);
        }
    }

    const int rows_;
    Tile<T, Operand> tile_;
};

template <class T, class Operand>
void prefill(const RowBlock& block, const Scratch& scratch) {
    Prefill<T, Operand>(block, scratch).run();
}

}  // namespace
}  // namespace acl_attn::engine
