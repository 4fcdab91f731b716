// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The online softmax of up to 32 rows whose scores stand in columns, as products with keys on the left leave them: a
// lane is a row, so that maxima and sums need no reduction. It runs in steps between the products of others.
#pragma once

#include "engine/amx_row_panels-inl.h"
#include "engine/amx_softmax-inl.h"

namespace acl_attn::engine {
namespace {

// One or two groups of 16 rows, and columns [begin, end) of the tile, multiples of kAmxDepth.
struct AmxSharedUnit {
    static constexpr int kGroupScores = kTileKeys * kAmxColumns;

    int group, groups;
    int begin, end;
    TileColumns seen;  // not rounded
    float* scores;           // [groups][kTileKeys][16 rows]

    int row() const { return group * kAmxRows; }
    int rows() const { return groups * kAmxRows; }
    float* column(int g, int k) const { return scores + g * kGroupScores + k * kAmxColumns; }
};

// Of 32 columns of a group's scores, in their place: the probabilities as left factors, [16 rows][pairs of columns k
// and k + 16], then what rounding them left.
class AmxSharedWeights {
public:
    explicit AmxSharedWeights(const Scratch& scratch) : s_(scratch) {}

    // Finds the maxima of a unit's scores, which are to be multiplied by `factor`, so that they count powers of 2, as
    // s_.row_max does here; leaves in s_.row_rescale what the rows' sums so far must be multiplied by.
    void enter(const AmxSharedUnit& unit, float factor) {
        unit_ = unit;
        group_ = stage_ = 0;
        column_ = unit.begin;
        for (int r = 0; r < unit.rows(); r += kLanes) {
            const float* scores = unit.column(r / kAmxRows, 0) + r % kAmxRows;
            vf top[4] = {splat(-kInfinity), splat(-kInfinity), splat(-kInfinity), splat(-kInfinity)};
            for (int k = unit.begin; k < unit.end; k += 4) {
                for (int i = 0; i < 4; i++) top[i] = max_number(load<vf>(scores + (k + i) * kAmxColumns), top[i]);
            }
            const vf largest = max_number(max_number(top[0], top[1]), max_number(top[2], top[3]));
            const vf before = load<vf>(s_.row_max + unit.row() + r);
            const vf kept = kept_reference(before, max_number(largest * splat(factor), before));
            // As in softmax_step: nothing but hidden scores so far must not become NaN.
            const vf reference = select(kept == -kInfinity, vf{}, kept);
            store(s_.row_max + unit.row() + r, kept);
            store(reference_ + r, reference);
            store(factor_ + r, splat(factor));
            const vi is_large = (as_int(reference) & 0x7fffffff) > kLargestFused;
            if (any(is_large)) scale_scores(r, is_large, factor);
            const vf one = splat(1.0f);
            const vf rescale = exp2_of_scores({{before}}, {{one}}, {{reference}}).v[0];
            store(s_.row_rescale + unit.row() + r, rescale);
            store(sum_rescale_ + r, rescale);
            store(sums_ + r, vf{});
        }
    }

    // After headrooms changed: what probabilities are multiplied by.
    void find_scales() {
        is_scaled_ = false;
        for (int r = 0; r < unit_.rows(); r++) {
            scale_[r] = s_.row_headroom[unit_.row() + r];
            is_scaled_ |= scale_[r] != 1.0f;
        }
    }

    // What the products will take for column k of a row (counted in the unit), before it is rounded.
    float probability(int r, int k) const {
        const auto all = [](float x) { return each([&](int) { return splat(x); }); };
        const float score = unit_.column(r / kAmxRows, k)[r % kAmxRows];
        return exp2_of_scores(all(score), all(factor_[r]), all(reference_[r])).v[0][0] * scale_[r];
    }

    // About how often advance() will be called.
    void spread(int calls) {
        calls_ = calls;
        credit_ = 0;
        steps_ = unit_.groups * ((unit_.end - unit_.begin) / kAmxDepth) * (kStages + 1);
    }

    __attribute__((always_inline)) void advance() {
        credit_ += steps_;
        while (credit_ >= calls_ && group_ < unit_.groups) {
            credit_ -= calls_;
            step();
        }
    }

    // What is left to do, and the rows' sums.
    void finish() {
        while (group_ < unit_.groups) step();
        for (int r = 0; r < unit_.rows(); r += kLanes) {
            float* row_sum = s_.row_sum + unit_.row() + r;
            store(row_sum, fma(load<vf>(row_sum), load<vf>(sum_rescale_ + r), load<vf>(sums_ + r)));
        }
    }

private:
    static constexpr int kStages = 4;  // of 32 columns' exponentials; each takes about as long as four multiplications
    static constexpr int32_t kLargestFused = (127 + 16) << 23;  // bits of 2^16

    // Scores are not rounded before the reference is taken from them, which itself is the rounded largest of them.
    // Where that difference would show, they are rounded, too.
    void scale_scores(int r, vi which, float factor) {
        float* scores = unit_.column(r / kAmxRows, 0) + r % kAmxRows;
        for (int k = unit_.begin; k < unit_.end; k++) {
            const vf x = load<vf>(scores + k * kAmxColumns);
            store(scores + k * kAmxColumns, select(which, x * splat(factor), x));
        }
        store(factor_ + r, select(which, splat(1.0f), splat(factor)));
    }

    __attribute__((noinline)) void step() {
        if (stage_ < kStages) {
            is_scaled_ ? weigh<true>() : weigh<false>();
            stage_++;
            return;
        }
        float* to = unit_.column(group_, column_);
        turn_tile(first_, to, kAmxColumns);
        turn_tile(rest_, to + kAmxTile, kAmxColumns);
        stage_ = 0;
        column_ += kAmxDepth;
        if (column_ < unit_.end) return;
        column_ = unit_.begin;
        group_++;
    }

    template <bool kScaled>
    void weigh() {
        constexpr int kPairs = kAmxRows / kStages;
        for (int lane = 0; lane < kAmxColumns; lane += kLanes) {
            const int r = group_ * kAmxRows + lane;
            const vf factor = load<vf>(factor_ + r), reference = load<vf>(reference_ + r), scale = load<vf>(scale_ + r);
            vf sum = load<vf>(sums_ + r);
            for (int j = stage_ * kPairs; j < (stage_ + 1) * kPairs; j += 2) {
                const float* scores = unit_.column(group_, column_ + j) + lane;
                Four p = exp2_of_scores(
                    each([&](int i) { return load<vf>(scores + (i / 2 + i % 2 * kAmxRows) * kAmxColumns); }),
                    each([&](int) { return factor; }), each([&](int) { return reference; }));
                sum += (p.v[0] + p.v[1]) + (p.v[2] + p.v[3]);
                if constexpr (kScaled) p = each([&](int i) { return p.v[i] * scale; });
                for (int i = 0; i < 2; i++) {
                    const vf* pair = p.v + 2 * i;
                    float* first = first_ + (j + i) * kAmxColumns + lane;
                    const vu bits[2] = {reinterpret_cast<vu>(pair[0]), reinterpret_cast<vu>(pair[1])};
                    store(first, pair_of(bits[0], bits[1]));
                    store(rest_ + (j + i) * kAmxColumns + lane,
                          pair_of(reinterpret_cast<vu>(pair[0] - upper(bits[0])),
                                  reinterpret_cast<vu>(pair[1] - upper(bits[1]))));
                }
            }
            store(sums_ + r, sum);
        }
    }

    const Scratch& s_;
    AmxSharedUnit unit_ = {};
    bool is_scaled_ = false;
    int group_ = 0, column_ = 0, stage_ = 0;  // of the next step
    int calls_ = 1, credit_ = 0, steps_ = 0;
    alignas(64) float factor_[kAmxUnitRows], reference_[kAmxUnitRows];
    alignas(64) float sum_rescale_[kAmxUnitRows];  // row_rescale without a change of headroom
    alignas(64) float scale_[kAmxUnitRows], sums_[kAmxUnitRows];
    alignas(64) float first_[kAmxTile], rest_[kAmxTile];  // of 32 columns, not turned yet
};

}  // namespace
}  // namespace acl_attn::engine
