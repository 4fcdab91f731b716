// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows against one packed tile, on AMX: as TileRows, but 32 rows at a time go through all of it, and the softmax
// of some runs beside the products of their neighbours.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/amx_logits-inl.h"
#include "engine/amx_products-inl.h"
#include "engine/amx_weights-inl.h"
#include "engine/block_rows-inl.h"
#include "engine/panels-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxRows : protected BlockRows<Operand, Owner> {
    using Block = BlockRows<Operand, Owner>;
    using Logits = AmxLogits<typename Operand::template Query<T>>;
    using Weights = AmxWeights<Operand>;

protected:
    static constexpr int kGroup = Operand::kGroup;

    AmxRows(const RowBlock& block, const Scratch& scratch, const Panels<T, Operand>& panels)
        : Block(block, scratch, panel_steps<Operand>(block.dim)), panels_(panels), weights_(scratch) {}

    void begin(int rows) {
        Block::begin(rows);
        for (int r = 0; r < groups_ * kGroup; r++) this->load_query_parts(r);
    }

    // Where keys are the left factor: queries from rows to columns, for which nothing else looks afterwards.
    void turn_queries() {
        alignas(64) uint16_t copy[kGroup][kMaxDim];
        const void* rows[kGroup];
        for (int i = 0; i < kGroup; i++) rows[i] = copy[i];
        for (int g = 0; g < groups_; g++) {
            float* queries = query(g);
            for (int i = 0; i < kGroup; i++) {
                __builtin_memcpy(copy[i], queries + i * ldq_, sizeof *queries * static_cast<size_t>(ldq_));
            }
            for (int i = 0; i < kGroup; i += kLanes) pack_keys<BF16, Operand>(rows + i, 2 * ldq_, queries, i, ldq_);
        }
    }

    // As in BlockRows.
    float* sums(int r) {
        float* sums = s_.out + r * ldo_;
        for (int d = 0; Operand::kKeysOnLeft && d < ldo_; d += kAmxDepth) {
            join_channels(sums + d, sums + d + kAmxColumns, sums + d);
        }
        this->join_aside(r, sums);
        return sums;
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
        if (units_ == 1) products += Weights::steps_alone(unit_[0]);
        // Few rows have so few products that a limit would leave most of what comes next to be waited for.
        ahead.spread(products, Operand::kKeysOnLeft ? kTileKeys : Ahead::kMostStretches);
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

    float* query(int group) const { return s_.query + static_cast<ptrdiff_t>(group) * kGroup * ldq_; }

    void visit_units(Ahead& ahead) {
        if (units_ == 0) return;
        Beside beside = {nullptr, ahead, {}, b_.mask != nullptr || b_.bias.kind == BiasKind::tensor};
        describe(unit_[0], 0);
        for (int i = 0; i <= units_ + 1; i++) {
            const bool has_scores = i < units_, has_weights = i >= 1 && i <= units_, has_values = i >= 2;
            if (has_values) rescale(unit_[i - 2]);
            const int calls = (has_values ? value_calls(unit_[i - 2]) : 0) + (has_scores ? score_calls(unit_[i]) : 0);
            // Unit i - 1 is weighed beside the products of unit i - 2 with values and of unit i with keys.
            if (has_weights) {
                prepare(unit_[i - 1]);
                weights_.spread(calls);
                beside.weights = &weights_;
            }
            // In the place of unit i - 1, which preparing it may have needed.
            if (i + 1 < units_) beside.tensors = tensors_ahead(describe(unit_[i + 1], i + 1), calls);
            if (has_values) accumulate(unit_[i - 2], beside);
            if (has_scores) score(unit_[i], beside);
            if (has_weights) weights_.finish(ahead);
            beside.weights = nullptr;
        }
    }

    // What runs between products.
    struct Beside {
        Weights* weights;  // null: none
        Ahead& ahead;
        Ahead tensors;  // of masks and biases
        const bool has_tensors;
        void advance() {
            ahead.advance();
            if (has_tensors) tensors.advance();
            if (weights != nullptr) weights->advance();
        }
    };

    // One or two groups, and the columns of the tile that they see.
    struct Unit : AmxUnit {
        int group, groups;
        TileColumns seen;  // not rounded to whole products
        const AmxLogitRows* view;  // null: all that the unit has
    };

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

    int score_calls(const Unit& unit) {
        return (unit.end - unit.begin) / (2 * kAmxColumns) * (panels_.steps / kAmxRows) *
               score_products<Operand>(this->query_parts());
    }
    int value_calls(const Unit& unit) const {
        return (unit.end - unit.begin) / kAmxDepth * kValueProducts<Operand> *
               ((b_.dim_v + 2 * kAmxColumns - 1) / (2 * kAmxColumns));
    }

    // Not inlined, nor is accumulate(): each needs the processor's registers for itself.
    __attribute__((noinline)) void score(const Unit& unit, Beside& beside) {
        logits_.enter(unit, unit.view);
        int taken = unit.begin;
        for (int c = unit.begin; c < unit.end; c += kAmxDepth) {
            unit.groups == 2 ? score<2>(unit, c, beside) : score<1>(unit, c, beside);
            // One step late: what a product stores arrives in memory after the next one has begun.
            if (Operand::kKeysOnLeft && c > unit.begin) turn_scores(unit, c - kAmxDepth);
            if (!panels_.finite || c - taken < Logits::kColumns) continue;
            logits_.take(taken, c);
            taken = c;
        }
        if (Operand::kKeysOnLeft) turn_scores(unit, unit.end - kAmxDepth);
        if (panels_.finite) logits_.take(taken, unit.end);
    }

    // 32 columns of scores.
    template <int kGroups>
    __attribute__((always_inline)) void score(const Unit& unit, int c, Beside& beside) {
        if constexpr (Operand::kKeysOnLeft) {
            amx_scores_by_key<kGroups>(panels_.key_rows(c), panels_.key_rows(c + kAmxRows), query(unit.group),
                                       panels_.steps, by_key_[c / kAmxDepth % 2][0], 2 * kAmxTile, beside);
        } else {
            const AmxFactor query = {s_.query + unit.row * ldq_, ldq_, this->query_part_size()};
            const AmxFactor keys = {panels_.key_panel((c - panels_.column(0)) / kAmxColumns),
                                    static_cast<ptrdiff_t>(panels_.steps) * kAmxColumns, panels_.key_part_size()};
            amx_scores<Operand, kGroups, 2>(query, this->query_parts(), keys, panels_.steps, unit.scores + c,
                                            kScoreStride, beside);
        }
    }

    // Scores that stand by keys, to where the rows have them.
    void turn_scores(const Unit& unit, int c) {
        for (int g = 0; g < unit.groups; g++) {
            float* scores = unit.scores + g * kGroup * kScoreStride + c;
            const float* by_key = by_key_[c / kAmxDepth % 2][g];
            turn_tile(by_key, scores, kScoreStride);
            turn_tile(by_key + kAmxTile, scores + kAmxColumns, kScoreStride);
        }
    }

    // What the softmax needs before its steps.
    void prepare(const Unit& unit) {
        if (!panels_.finite) {
            add_specials(unit);
            logits_.take(unit.begin, unit.end);
        }
        weights_.enter(unit, has_factor() ? kLog2E : this->scale() * kLog2E, this->value_scales(), logits_.tops());
        if (panels_.exceptional || any_aside_) prepare_aside(unit);
    }

    // Whether scores are scaled before the softmax: others are added to them, or the largest would not stay so.
    bool has_factor() {
        return b_.bias.kind != BiasKind::none || this->key_scales() != nullptr || !(this->scale() > 0.0f);
    }

    // What a unit's rows add and see; null: nothing, and all its columns.
    const AmxLogitRows* describe(Unit& unit, int index) {
        AmxLogitRows& view = view_[index % 2];
        const bool has_slopes = b_.bias.kind != BiasKind::none && b_.bias.kind != BiasKind::tensor;
        view.adds = has_slopes                         ? AmxLogitRows::slopes
                    : b_.bias.kind != BiasKind::none ? AmxLogitRows::numbers
                    : has_factor()                     ? AmxLogitRows::nothing
                                                       : AmxLogitRows::unscaled;
        view.masks = owner().is_masked(unit.group) || (unit.groups == 2 && owner().is_masked(unit.group + 1));
        const bool cuts = owner().seen(last_row(unit)).begin > panels_.key + unit.begin ||
                          owner().seen(unit.row).end < panels_.key + unit.end;
        unit.view = view.adds != AmxLogitRows::unscaled || view.masks || cuts ? &view : nullptr;
        if (unit.view == nullptr) return nullptr;
        view.factor = this->scale();
        view.factors = this->key_scales();
        view.all_begin = unit.begin;
        view.all_end = unit.end;
        for (int i = 0; i < unit.rows; i++) {
            const bool is_row = owner().has_row(unit.row + i);
            const int64_t row = owner().row(unit.row + i);
            TileColumns columns = {unit.begin, unit.end};
            if (is_row) columns = columns_of(owner().seen(unit.row + i), panels_.key, unit.begin, unit.end);
            view.begin[i] = columns.begin;
            view.end[i] = columns.end;
            if (columns.begin > view.all_begin) view.all_begin = columns.begin;
            if (columns.end < view.all_end) view.all_end = columns.end;
            if (b_.bias.kind != BiasKind::none) {
                view.bias[i] = is_row ? RowBias(b_, owner().head(unit.row + i), row, panels_.key)
                                      : RowBias(reinterpret_cast<const uint16_t*>(s_.zeros));
            }
            if (!view.masks) continue;
            view.mask[i] = is_row ? mask_row(b_, row) + panels_.key : reinterpret_cast<const uint8_t*>(s_.zeros);
        }
        view.columns = unit.seen;
        view.rows = unit.rows;
        return unit.view;
    }

    // Rows of tensors lie too far apart for the processor to foresee them.
    Ahead tensors_ahead(const AmxLogitRows* view, int calls) {
        if (view == nullptr) return {};
        const bool has_bias = b_.bias.kind == BiasKind::tensor;
        const void **biases = tensor_rows_, **masks = tensor_rows_ + (has_bias ? view->rows : 0);
        const int64_t columns = view->columns.end - view->columns.begin;
        for (int i = 0; i < view->rows; i++) {
            if (has_bias) biases[i] = view->bias[i].numbers + view->columns.begin;
            if (view->masks) masks[i] = view->mask[i] + view->columns.begin;
        }
        Ahead ahead;
        if (has_bias) ahead.add(biases, view->rows, columns * static_cast<int64_t>(sizeof(uint16_t)));
        if (view->masks) ahead.add(masks, view->rows, columns);
        ahead.spread(calls);
        return ahead;
    }

    void prepare_aside(const Unit& unit) {
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
        const uint16_t* second = first + 2 * this->query_part_size();
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

    __attribute__((noinline)) void accumulate(const Unit& unit, Beside& beside) {
        const bool fresh = this->begin_sums(unit.group, unit.groups);
        const AmxFactor weights = {unit.scores, kScoreStride, kAmxColumns};
        AmxFactor values = {s_.value_panels, panels_.value_panel_size(), panels_.value_part_size()};
        float* sums = s_.out + unit.row * ldo_;
        for (int c = 0; c < b_.dim_v; c += 2 * kAmxColumns) {
            const bool is_pair = Operand::kKeysOnLeft || c + kAmxColumns < b_.dim_v;
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
    Logits logits_;
    AmxLogitRows view_[2];  // of units that follow each other
    const void* tensor_rows_[2 * kAmxUnitRows];
    // Of two steps of 32 columns: [group][column][16 rows].
    alignas(64) float by_key_[Operand::kKeysOnLeft ? 2 : 1][2][2 * kAmxTile];
    Unit unit_[Block::kMaxGroups];
    int units_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
