// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows against one tile of shared keys and values, on AMX: as AmxRows, with keys as the left factor of the first
// product. Sums of values stand in the order of the value panels until join_aside().
#pragma once

#include "engine/amx_shared_weights-inl.h"
#include "engine/block_rows-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxSharedRows : protected BlockRows<Operand, Owner> {
    using Block = BlockRows<Operand, Owner>;
    using Unit = AmxSharedUnit;

protected:
    static constexpr int kGroup = Operand::kGroup;

    AmxSharedRows(const RowBlock& block, const Scratch& scratch, const Panels<T, Operand>& panels)
        : Block(block, scratch, panel_steps<Operand>(block.dim)), panels_(panels), weights_(scratch) {}

    void begin(int rows) {
        Block::begin(rows);
        for (int g = 0; g < groups_; g++) load_queries(g);
    }

    // Maxima are kept as powers of 2.
    RowState state(int r) const { return Block::state(r, kLn2); }

    // Once, before a row's sums are used.
    void join_aside(int r) {
        float* sums = s_.out + r * ldo_;
        for (int d = 0; d < ldo_; d += kAmxDepth) {
            float own[kAmxDepth];
            __builtin_memcpy(own, sums + d, sizeof own);
            for (int i = 0; i < kAmxDepth; i += 2 * kLanes) {
                const vf even = load<vf>(own + i / 2), odd = load<vf>(own + kAmxColumns + i / 2);
                store(sums + d + i, interleave_low(even, odd));
                store(sums + d + i + kLanes, interleave_high(even, odd));
            }
        }
        Block::join_aside(r);
    }

    // The packed tile for groups [group_begin, group_end).
    void visit(int group_begin, int group_end) {
        units_ = 0;
        for (int g = group_begin; g < group_end; g += 2) {
            Unit& unit = unit_[units_];
            if (!find_range(unit, g, g + 1 < group_end ? 2 : 1)) continue;
            unit.scores = s_.scores + units_++ % 2 * 2 * Unit::kGroupScores;
        }
        Beside beside = {nullptr};
        for (int i = 0; i < units_ + 2; i++) {
            // Unit i - 1 is weighed beside the products of unit i - 2 with values and of unit i with keys.
            const bool has_values = i > 1, has_weights = i > 0 && i <= units_, has_scores = i < units_;
            if (has_weights) {
                prepare(unit_[i - 1]);
                weights_.spread((has_values ? value_calls(unit_[i - 2]) : 0) +
                                (has_scores ? score_calls(unit_[i]) : 0));
                beside.weights = &weights_;
            }
            if (has_values) accumulate(unit_[i - 2], beside);
            if (has_scores) score(unit_[i], beside);
            if (has_weights) weights_.finish();
            beside.weights = nullptr;
        }
    }

    using Block::b_;
    using Block::s_;
    using Block::ldo_;
    using Block::ldq_;
    using Block::groups_;
    using Block::owner;

private:
    using Block::any_aside_;
    using Block::has_sums_;

    // What runs between products.
    struct Beside {
        AmxSharedWeights* weights;  // null: none
        __attribute__((always_inline)) void advance() {
            if (weights != nullptr) weights->advance();
        }
    };

    float* query(int group) const { return s_.query + static_cast<ptrdiff_t>(group) * kGroup * ldq_; }

    // From a copy: to read rows one after another is what memory does best, and packing takes pieces of all in turns.
    void load_queries(int g) {
        static_assert(kMaxSharedDim / 2 <= kScoreStride, "the copy stands where scores will be");
        const void* rows[kGroup];
        uint16_t* copy = reinterpret_cast<uint16_t*>(s_.scores);
        for (int i = 0; i < kGroup; i++) {
            const int r = g * kGroup + i;
            rows[i] = s_.zeros;
            if (!owner().has_row(r)) continue;
            copy_query(b_, 0, owner().row(r), copy + i * b_.dim);
            rows[i] = copy + i * b_.dim;
        }
        for (int i = 0; i < kGroup; i += kLanes) pack_keys<T, Operand>(rows + i, b_.dim, query(g), i, panels_.steps);
    }

    bool find_range(Unit& unit, int group, int groups) {
        unit.seen = this->seen_columns(panels_, group, groups);
        unit.group = group;
        unit.groups = groups;
        unit.begin = round_down(unit.seen.begin, kAmxDepth);
        unit.end = round_up(unit.seen.end, kAmxDepth);
        return unit.seen.begin < unit.seen.end;
    }

    int score_calls(const Unit& unit) const {
        return (unit.end - unit.begin) / kAmxDepth * (panels_.steps / kAmxRows);
    }
    int value_calls(const Unit& unit) const {
        int calls = 0;
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) calls += value_products<Operand>(k);
        return calls * (ldo_ / kAmxDepth);
    }

    void score(const Unit& unit, Beside& beside) {
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) {
            unit.groups == 2 ? score<2>(unit, k, beside) : score<1>(unit, k, beside);
        }
    }

    template <int kGroups>
    void score(const Unit& unit, int k, Beside& beside) {
        using Block = AmxBlock<2, kGroups>;
        const ptrdiff_t panel = static_cast<ptrdiff_t>(panels_.steps) * kAmxRows;
        const uint16_t* keys = panels_.row(k);
        const float* queries = query(unit.group);
        Block::zero();
        for (int s = 0; s < panels_.steps; s += kAmxRows, keys += kAmxDepth, queries += kAmxTile) {
            amx_load_once<4>(keys, 2 * panels_.row_size());
            amx_load_once<5>(keys + kAmxRows * panels_.row_size(), 2 * panels_.row_size());
            amx_load<6>(queries, 4 * kAmxColumns);
            if constexpr (kGroups > 1) amx_load<7>(queries + panel, 4 * kAmxColumns);
            Block::multiply(beside);
        }
        float* scores = unit.column(0, k);
        amx_store<0>(scores, 4 * kAmxColumns);
        amx_store<2>(scores + kAmxTile, 4 * kAmxColumns);
        if constexpr (kGroups > 1) {
            amx_store<1>(scores + Unit::kGroupScores, 4 * kAmxColumns);
            amx_store<3>(scores + Unit::kGroupScores + kAmxTile, 4 * kAmxColumns);
        }
    }

    // All that the softmax needs but the exponentials.
    void prepare(const Unit& unit) {
        const bool is_scaled = !(b_.scale > 0.0f);
        for (int g = 0; g < unit.groups; g++) {
            if (is_scaled) scale_scores(unit, g);
            hide(unit, g);
        }
        weights_.enter(unit, is_scaled ? kLog2E : b_.scale * kLog2E);
        if (panels_.exceptional) set_aside_rows(unit);
        weights_.find_scales();
        for (int r = unit.row(); r < unit.row() + unit.rows(); r++) {
            const float rescale = s_.row_rescale[r];
            if (rescale == 1.0f) continue;
            if (has_sums_[r / kGroup]) this->scale_sums(s_.out, r, rescale);
            if (any_aside_) this->scale_sums(s_.aside, r, rescale);
        }
        if (panels_.exceptional) add_aside(unit);
    }

    void scale_scores(const Unit& unit, int g) const {
        const vf scale = splat(b_.scale);
        for (float* x = unit.column(g, unit.begin); x < unit.column(g, unit.end); x += kLanes) {
            store(x, load<vf>(x) * scale);
        }
    }

    // Hides what rows do not see.
    void hide(const Unit& unit, int g) {
        alignas(64) int32_t from[kGroup], to[kGroup];
        int all_from = unit.begin, all_to = unit.end;
        for (int i = 0; i < kGroup; i++) {
            const int r = (unit.group + g) * kGroup + i;
            from[i] = unit.seen.begin;
            to[i] = unit.seen.end;
            if (owner().has_row(r)) {
                const Interval seen = owner().seen(r);
                from[i] = static_cast<int>(larger(seen.begin - panels_.key, unit.begin));
                to[i] = static_cast<int>(smaller(larger(seen.end - panels_.key, unit.begin), unit.end));
            }
            if (from[i] > all_from) all_from = from[i];
            if (to[i] < all_to) all_to = to[i];
        }
        const auto hide = [&](int begin, int end) {
            for (int k = begin; k < end; k++) {
                float* scores = unit.column(g, k);
                for (int i = 0; i < kGroup; i += kLanes) {
                    const vi is_seen = (load<vi>(from + i) <= k) & (load<vi>(to + i) > k);
                    store(scores + i, select(is_seen, load<vf>(scores + i), splat(-kInfinity)));
                }
            }
        };
        if (all_from > unit.end) all_from = unit.end;
        hide(unit.begin, all_from);
        hide(all_to > all_from ? all_to : all_from, unit.end);
    }

    void set_aside_rows(const Unit& unit) {
        for (int r = unit.row(); r < unit.row() + unit.rows(); r++) {
            if (owner().has_row(r)) this->set_aside(r, panels_, unit.seen);
        }
    }

    void add_aside(const Unit& unit) {
        float* sums = this->aside();
        for (int r = unit.row(); r < unit.row() + unit.rows(); r++) {
            if (!owner().has_row(r)) continue;
            Block::template add_aside<T>(
                r, panels_, unit.seen, [&](int k) { return weights_.probability(r - unit.row(), k); }, sums);
        }
    }

    void accumulate(const Unit& unit, Beside& beside) {
        const bool fresh = this->begin_sums(unit.group, unit.groups);
        for (int c = 0; c < ldo_; c += kAmxDepth) {
            unit.groups == 2 ? add_values<2>(unit, c, fresh, beside) : add_values<1>(unit, c, fresh, beside);
        }
    }

    template <int kGroups>
    void add_values(const Unit& unit, int c, bool fresh, Beside& beside) {
        using Block = AmxBlock<kGroups, 2>;
        float* sums = s_.out + unit.row() * ldo_ + c;
        fresh ? Block::zero() : Block::load(sums, ldo_);
        const int panel = panels_.value_panel_size();
        const float* values = s_.value_panels + static_cast<ptrdiff_t>(c / kAmxColumns) * panel;
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) {
            const float* weights = unit.column(0, k);
            amx_load_once<6>(values + k / 2 * kAmxColumns, 4 * kAmxColumns);
            amx_load_once<7>(values + k / 2 * kAmxColumns + panel, 4 * kAmxColumns);
            for (int part = 0; part < value_products<Operand>(k); part++, weights += kAmxTile) {
                amx_load<4>(weights, 4 * kAmxColumns);
                if constexpr (kGroups > 1) amx_load<5>(weights + Unit::kGroupScores, 4 * kAmxColumns);
                Block::multiply(beside);
            }
        }
        Block::store(sums, ldo_);
    }

    const AmxSession session_;  // the registers while the block is computed
    const Panels<T, Operand>& panels_;
    AmxSharedWeights weights_;
    Unit unit_[Block::kMaxGroups];
    int units_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
