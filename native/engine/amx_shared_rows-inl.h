// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows against one tile of shared keys and values, on AMX: as AmxRows, with keys as the left factor of the first
// product. Sums of values are kept register by register, in the order of the value panels.
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

    // As in BlockRows; until the next call.
    const float* sums(int r) {
        const float* from = s_.out + sums_at(r);
        for (int d = 0; d < ldo_; d += kAmxDepth, from += 2 * kAmxTile) {
            join_channels(from, from + kAmxTile, row_sums_ + d);
        }
        this->join_aside(r, row_sums_);
        return row_sums_;
    }

    // As if the row had not seen any key.
    void forget(int r) {
        for (int d = 0; d < ldo_; d += kAmxColumns) {
            __builtin_memset(s_.out + sums_at(r) + d * kGroup, 0, sizeof(float) * kAmxColumns);
        }
        this->forget_others(r);
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
        return (unit.end - unit.begin) / kAmxDepth * kValueProducts<Operand> * (ldo_ / kAmxDepth);
    }

    void score(const Unit& unit, Beside& beside) {
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) {
            unit.groups == 2 ? score<2>(unit, k, beside) : score<1>(unit, k, beside);
        }
    }

    template <int kGroups>
    void score(const Unit& unit, int k, Beside& beside) {
        amx_scores_by_key<kGroups>(panels_.key_rows(k), panels_.key_rows(k + kAmxRows), query(unit.group),
                                   panels_.steps, unit.column(0, k), Unit::kGroupScores, beside);
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
            if (has_sums_[r / kGroup]) scale_registers(r, rescale);
            if (any_aside_) this->scale_sums(s_.aside, r, rescale);
        }
        if (panels_.exceptional) add_aside(unit);
    }

    // Where a row's sums begin; further ones follow kAmxTile elements apart, kAmxColumns each.
    ptrdiff_t sums_at(int r) const {
        return static_cast<ptrdiff_t>(r / kGroup) * kGroup * ldo_ + r % kGroup * kAmxColumns;
    }

    void scale_registers(int r, float factor) const {
        float* sums = s_.out + sums_at(r);
        for (int d = 0; d < ldo_ * kGroup; d += kAmxTile) {
            for (int c = d; c < d + kAmxColumns; c += kLanes) store(sums + c, load<vf>(sums + c) * splat(factor));
        }
    }

    void scale_scores(const Unit& unit, int g) const {
        const vf scale = splat(b_.scale);
        for (float* x = unit.column(g, unit.begin); x < unit.column(g, unit.end); x += kLanes) {
            store(x, load<vf>(x) * scale);
        }
    }

    // Hides what rows do not see.
    void hide(const Unit& unit, int g) {
        const Interval some = owner().group_seen(unit.group + g), all = owner().group_sees(unit.group + g);
        const int from = column_of(unit, all.begin), to = column_of(unit, all.end);
        if (some.begin == all.begin && some.end == all.end) {
            hide_columns(unit, g, unit.begin, from);
            hide_columns(unit, g, to, unit.end);
        } else if (from > unit.begin || to < unit.end) {
            hide_in_rows(unit, g, from, to);
        }
    }

    int column_of(const Unit& unit, int64_t key) const {
        return static_cast<int>(smaller(larger(key - panels_.key, unit.begin), unit.end));
    }

    static void hide_columns(const Unit& unit, int g, int begin, int end) {
        for (float* x = unit.column(g, begin); x < unit.column(g, end); x += kLanes) store(x, splat(-kInfinity));
    }

    // All rows of the group see columns [all_from, all_to).
    void hide_in_rows(const Unit& unit, int g, int all_from, int all_to) {
        alignas(64) int32_t from[kGroup], to[kGroup];
        for (int i = 0; i < kGroup; i++) {
            const int r = (unit.group + g) * kGroup + i;
            const Interval seen = owner().has_row(r) ? owner().seen(r) : Interval{};
            from[i] = column_of(unit, seen.begin);
            to[i] = column_of(unit, seen.end);
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

    // 32 channels of one or two groups' sums.
    template <int kGroups>
    struct Sums {
        float* tiles;      // the first group's two
        ptrdiff_t second;  // from there to the second group's

        float* tile(int i) const { return tiles + i / 2 * second + i % 2 * kAmxTile; }
        void load() const {
            amx_load<0>(tile(0), 4 * kAmxColumns);
            amx_load<1>(tile(1), 4 * kAmxColumns);
            if constexpr (kGroups > 1) amx_load<2>(tile(2), 4 * kAmxColumns);
            if constexpr (kGroups > 1) amx_load<3>(tile(3), 4 * kAmxColumns);
        }
        void store() const {
            amx_store<0>(tile(0), 4 * kAmxColumns);
            amx_store<1>(tile(1), 4 * kAmxColumns);
            if constexpr (kGroups > 1) amx_store<2>(tile(2), 4 * kAmxColumns);
            if constexpr (kGroups > 1) amx_store<3>(tile(3), 4 * kAmxColumns);
        }
        void prefetch(int i) const {
            for (int row = 0; row < kAmxTile; row += kAmxColumns) prefetch_to_l1(tile(i) + row);
        }
    };

    template <int kGroups>
    void add_values(const Unit& unit, int c, bool fresh, Beside& beside) {
        using Block = AmxBlock<kGroups, 2>;
        const ptrdiff_t group_size = static_cast<ptrdiff_t>(kGroup) * ldo_;
        const Sums<kGroups> sums = {s_.out + unit.group * group_size + c * kGroup, group_size};
        const Sums<kGroups> next = {sums.tiles + 2 * kAmxTile, group_size};
        fresh ? Block::zero() : sums.load();
        const int panel = panels_.value_panel_size();
        const float* values = s_.value_panels + static_cast<ptrdiff_t>(c / kAmxColumns) * panel;
        int to_prefetch = c + kAmxDepth < ldo_ ? 2 * kGroups : 0;
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) {
            const float* weights = unit.column(0, k);
            amx_load_once<6>(values + k / 2 * kAmxColumns, 4 * kAmxColumns);
            amx_load_once<7>(values + k / 2 * kAmxColumns + panel, 4 * kAmxColumns);
            if (to_prefetch > 0) next.prefetch(--to_prefetch);
            for (int part = 0; part < kValueProducts<Operand>; part++, weights += kAmxTile) {
                amx_load<4>(weights, 4 * kAmxColumns);
                if constexpr (kGroups > 1) amx_load<5>(weights + Unit::kGroupScores, 4 * kAmxColumns);
                Block::multiply(beside);
            }
        }
        sums.store();
    }

    const AmxSession session_;  // the registers while the block is computed
    const Panels<T, Operand>& panels_;
    AmxSharedWeights weights_;
    Unit unit_[Block::kMaxGroups];
    int units_ = 0;
    alignas(64) float row_sums_[kMaxSharedDim];
};

}  // namespace
}  // namespace acl_attn::engine
