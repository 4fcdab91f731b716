// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows against one packed tile, on AMX: as TileRows, but 32 rows at a time go through all of it, and the softmax
// of some runs beside the products of their neighbours.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/amx_products-inl.h"
#include "engine/amx_weights-inl.h"
#include "engine/bias-inl.h"
#include "engine/block_rows-inl.h"
#include "engine/panels-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxRows : protected BlockRows<Operand, Owner> {
    using Block = BlockRows<Operand, Owner>;
    using Weights = AmxWeights<Operand, AmxRows>;
    friend Weights;

protected:
    static constexpr int kGroup = Operand::kGroup;

    AmxRows(const RowBlock& block, const Scratch& scratch, const Panels<T, Operand>& panels)
        : Block(block, scratch, panel_steps<Operand>(block.dim)), panels_(panels), weights_(scratch, *this) {}

    void begin(int rows) {
        Block::begin(rows);
        for (int r = 0; r < groups_ * kGroup; r++) load_query(r);
    }

    // Maxima are kept as powers of 2.
    RowState state(int r) const { return Block::state(r, kLn2); }

    // The packed tile for groups [group_begin, group_end).
    void visit(int group_begin, int group_end, Ahead& ahead) {
        units_ = 0;
        int products = 0;
        for (int g = group_begin; g < group_end; g += 2) {
            Unit& unit = unit_[units_];
            if (!find_range(unit, g, g + 1 < group_end ? 2 : 1)) continue;
            unit.scores = s_.scores + units_++ % 2 * kAmxUnitRows * kScoreStride;
            products += score_calls(unit) + value_calls(unit);
        }
        ahead.spread(products);
        visit_units(ahead);
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

    void visit_units(Ahead& ahead) {
        Beside beside = {nullptr, ahead};
        for (int i = 0; i <= units_; i++) {
            if (i == 0) {
                if (units_ > 0) score(unit_[0], beside);
                continue;
            }
            if (i > 1) rescale(unit_[i - 2]);
            // Unit i - 1 is weighed beside the products of unit i - 2 with values and of unit i with keys.
            prepare(unit_[i - 1]);
            const int calls = (i > 1 ? value_calls(unit_[i - 2]) : 0) + (i < units_ ? score_calls(unit_[i]) : 0);
            weights_.spread(calls);
            beside.weights = &weights_;
            if (i > 1) accumulate(unit_[i - 2], beside);
            if (i < units_) score(unit_[i], beside);
            weights_.finish();
            beside.weights = nullptr;
        }
        if (units_ > 0) {
            rescale(unit_[units_ - 1]);
            accumulate(unit_[units_ - 1], beside);
        }
    }

    // What runs between products.
    struct Beside {
        Weights* weights;  // null: none
        Ahead& ahead;
        void advance() {
            ahead.advance();
            if (weights != nullptr) weights->advance();
        }
    };

    // One or two groups, and the columns of the tile that they see.
    struct Unit : AmxUnit {
        int group, groups;
        TileColumns seen;  // not rounded to whole products
    };

    void load_query(int r) {
        uint16_t* to = reinterpret_cast<uint16_t*>(s_.query + r * ldq_);
        __builtin_memset(to, 0, sizeof(float) * ldq_);
        if (owner().has_row(r)) copy_query(b_, 0, owner().row(r), to);
        if constexpr (Operand::kParts > 1) {
            uint16_t* rest = reinterpret_cast<uint16_t*>(s_.query + query_part() + r * ldq_);
            for (int d = 0; d < 2 * ldq_; d += kLanes) {
                vu second;
                const vu first = split_upper(widen(F16{}, load<vh>(to + d)), &second);
                store(to + d, truncate(first >> 16));
                store(rest + d, truncate(second >> 16));
            }
        }
    }
    ptrdiff_t query_part() const { return static_cast<ptrdiff_t>(groups_) * kGroup * ldq_; }

    bool find_range(Unit& unit, int group, int groups) {
        unit.seen = this->seen_columns(panels_, group, groups);
        unit.group = group;
        unit.groups = groups;
        unit.row = group * kGroup;
        unit.rows = groups * kGroup;
        unit.begin = round_down(unit.seen.begin, kAmxDepth);
        unit.end = round_up(unit.seen.end, kAmxDepth);
        return unit.seen.begin < unit.seen.end;
    }

    int score_calls(const Unit& unit) const {
        return (unit.end - unit.begin) / (2 * kAmxColumns) * (panels_.steps / kAmxRows) * score_products<Operand>();
    }
    int value_calls(const Unit& unit) const {
        int calls = 0;
        for (int k = unit.begin; k < unit.end; k += kAmxDepth) calls += value_products<Operand>(k);
        return calls * ((b_.dim_v + 2 * kAmxColumns - 1) / (2 * kAmxColumns));
    }

    void score(const Unit& unit, Beside& beside) {
        prefetch_adjustments(unit);
        const AmxFactor query = {s_.query + unit.row * ldq_, ldq_, query_part()};
        const ptrdiff_t panel_size = static_cast<ptrdiff_t>(panels_.steps) * kAmxColumns;
        for (int c = unit.begin; c < unit.end; c += 2 * kAmxColumns) {
            const AmxFactor keys = {panels_.key_panel((c - panels_.column(0)) / kAmxColumns), panel_size,
                                    panels_.key_part_size()};
            if (unit.groups == 2) {
                amx_scores<Operand, 2, 2>(query, keys, panels_.steps, unit.scores + c, kScoreStride, beside);
            } else {
                amx_scores<Operand, 1, 2>(query, keys, panels_.steps, unit.scores + c, kScoreStride, beside);
            }
        }
    }

    // What the softmax needs before its steps, which find the maxima; unless these decide what to set aside.
    void prepare(const Unit& unit) {
        if (!panels_.finite) add_specials(unit);
        is_scaled_ = b_.bias.kind != BiasKind::none || !(b_.scale > 0.0f);
        is_whole_ = !is_masked(unit) && !is_scaled_ &&
                    owner().seen(last_row(unit)).begin <= panels_.key + unit.begin &&
                    owner().seen(unit.row).end >= panels_.key + unit.end;
        weights_.enter(unit, is_scaled_ ? kLog2E : b_.scale * kLog2E);
        if (panels_.exceptional || any_aside_) prepare_aside(unit);
    }

    bool is_masked(const Unit& unit) {
        return owner().is_masked(unit.group) || (unit.groups == 2 && owner().is_masked(unit.group + 1));
    }

    void prepare_aside(const Unit& unit) {
        weights_.find_maxima();
        if (panels_.exceptional) {
            set_aside_rows(unit);
            weights_.find_scales();
        }
        for (int r = unit.row; any_aside_ && r < unit.row + unit.rows; r++) {
            if (s_.row_rescale[r] != 1.0f) this->scale_sums(s_.aside, r, s_.row_rescale[r]);
        }
        if (panels_.exceptional) add_aside(unit);
    }

    // What the unit's rows have summed, after its softmax and before its products with values.
    void rescale(const Unit& unit) {
        for (int r = unit.row; r < unit.row + unit.rows; r++) {
            if (s_.row_rescale[r] != 1.0f && has_sums_[r / kGroup]) this->scale_sums(s_.out, r, s_.row_rescale[r]);
        }
    }

    int last_row(const Unit& unit) {
        int last = unit.row + unit.rows - 1;
        while (!owner().has_row(last)) last--;
        return last;
    }

    // Brings close what adjust() will read for a unit: rows lie too far apart for the processor to foresee them.
    void prefetch_adjustments(const Unit& unit) {
        const bool has_bias = b_.bias.kind == BiasKind::tensor;
        if (!is_masked(unit) && !has_bias) return;
        const int64_t first = panels_.key + unit.seen.begin, end = panels_.key + unit.seen.end;
        for (int r = unit.row; r <= last_row(unit); r++) {
            if (!owner().has_row(r)) continue;
            const int64_t row = owner().row(r);
            if (is_masked(unit)) prefetch_lines(mask_row(b_, row) + first, mask_row(b_, row) + end);
            if (has_bias) {
                const int64_t head = b_.sink.first_head + query_head(b_, 0, row);
                const uint16_t* bias = bias_row(b_, head, row / b_.group);
                prefetch_lines(bias + first, bias + end);
            }
        }
    }

    static void prefetch_lines(const void* begin, const void* end) {
        constexpr int kLine = 64;
        for (const char* p = static_cast<const char*>(begin); p < end; p += kLine) prefetch_to_l1(p);
    }

    // Hides what rows [row, row + kLanes) of the unit do not see, and adds to scores.
    void adjust(const AmxUnit& unit, int row) {
        if (is_whole_) return;
        for (int r = unit.row + row; r < unit.row + row + kLanes; r++) {
            if (!owner().has_row(r)) continue;
            float* scores = unit.scores + (r - unit.row) * kScoreStride;
            if (is_scaled_) {
                const vf scale = splat(b_.scale);
                for (int c = unit.begin; c < unit.end; c += kLanes) store(scores + c, load<vf>(scores + c) * scale);
            }
            owner().adjust_scores(r, owner().seen(r), unit.begin, unit.end, scores);
        }
    }

    // An infinity of a key would meet the zeros that are second parts of queries: the scores with such keys anew.
    void add_specials(const Unit& unit) {
        for (int c = unit.seen.begin; c < unit.seen.end; c++) {
            if (classify_row<T, false>(panels_.key_row(c), b_.dim) == kOrdinary) continue;
            for (int r = unit.row; r < unit.row + unit.rows; r++) {
                unit.scores[(r - unit.row) * kScoreStride + c] = score_in_fp32(r, panels_.key_row(c));
            }
        }
    }

    float score_in_fp32(int r, const void* key) const {
        const uint16_t* first = reinterpret_cast<const uint16_t*>(s_.query + r * ldq_);
        const uint16_t* second = reinterpret_cast<const uint16_t*>(s_.query + query_part() + r * ldq_);
        vf sum = {};
        for (int d = 0; d < b_.dim; d += kLanes) {
            const vf query = widen(BF16{}, load<vh>(first + d)) + widen(BF16{}, load<vh>(second + d));
            sum += query * load_wide_part<T>(elements<T>(key) + d, b_.dim - d);
        }
        return reduce_sum(sum);
    }

    void set_aside_rows(const Unit& unit) {
        for (int r = unit.row; r < unit.row + unit.rows; r++) {
            if (owner().has_row(r)) this->set_aside(r, panels_, unit.seen);
        }
    }

    void add_aside(const Unit& unit) {
        float* sums = this->aside();
        for (int r = unit.row; r < unit.row + unit.rows; r++) {
            if (!owner().has_row(r)) continue;
            Block::template add_aside<T>(
                r, panels_, unit.seen, [&](int k) { return weights_.probability(r - unit.row, k); }, sums);
        }
    }

    void accumulate(const Unit& unit, Beside& beside) {
        const bool fresh = this->begin_sums(unit.group, unit.groups);
        const AmxFactor weights = {unit.scores, kScoreStride, kAmxColumns};
        AmxFactor values = {s_.value_panels, panels_.value_panel_size(), panels_.value_part_size()};
        float* sums = s_.out + unit.row * ldo_;
        for (int c = 0; c < b_.dim_v; c += 2 * kAmxColumns) {
            const bool is_pair = c + kAmxColumns < b_.dim_v;
            const auto add = [&](auto rows, auto columns) {
                amx_values<Operand, decltype(rows)::value, decltype(columns)::value>(
                    weights, values, unit.begin, unit.end, fresh, sums + c, ldo_, beside);
            };
            if (unit.groups == 2) {
                is_pair ? add(Constant<2>{}, Constant<2>{}) : add(Constant<2>{}, Constant<1>{});
            } else {
                is_pair ? add(Constant<1>{}, Constant<2>{}) : add(Constant<1>{}, Constant<1>{});
            }
            values.at += 2 * panels_.value_panel_size();
        }
    }

    const AmxSession session_;  // the registers while the block is computed
    const Panels<T, Operand>& panels_;
    Weights weights_;
    bool is_scaled_ = false, is_whole_ = false;  // of the unit that is weighed
    Unit unit_[Block::kMaxGroups];
    int units_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
