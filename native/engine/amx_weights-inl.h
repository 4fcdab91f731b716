// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The online softmax of up to 32 rows, in steps that run between the products of others.
#pragma once

#include "engine/amx_products-inl.h"
#include "engine/amx_softmax-inl.h"
#include "engine/kernels.h"

namespace acl_attn::engine {
namespace {

// Rows [row, row + rows) of the block, whole groups, and columns [begin, end) of the tile, multiples of kAmxDepth.
struct AmxUnit {
    int row, rows;
    int begin, end;
    float* scores;  // [rows][kScoreStride], of column 0
};

template <class Operand>
class AmxWeights {
public:
    explicit AmxWeights(const Scratch& scratch) : s_(scratch) {}

    // Begins a unit, whose scores are to be multiplied by `factor`, so that they count powers of 2, as s_.row_max does
    // here. `values`: what probabilities of the tile's keys are multiplied by after their sum; null: nothing. `tops`:
    // [rows][kLanes], among which are the rows' largest scores.
    void enter(const AmxUnit& unit, float factor, const float* values, const float (*tops)[kLanes]) {
        unit_ = unit;
        values_ = values;
        factor_ = factor;
        row_ = 0;
        column_ = unit.begin;
        for (int r = 0; r < unit.rows; r += kLanes) find_reference(r, tops + r);
        find_scales();
    }

    // After headrooms changed: what probabilities are multiplied by.
    void find_scales() {
        is_scaled_ = false;
        for (int r = 0; r < unit_.rows; r++) {
            scale_[r] = s_.row_headroom[unit_.row + r];
            is_scaled_ |= scale_[r] != 1.0f;
        }
    }

    // What the products will take for column k of a row (counted in the unit), before it is rounded.
    float probability(int r, int k) const {
        const float score = unit_.scores[r * kScoreStride + k];
        const auto all = [](float x) { return each([&](int) { return splat(x); }); };
        const float p = exp2_of_scores(all(score), all(row_factor_[r]), all(reference_[r])).v[0][0] * scale_[r];
        return Operand::kTakesCodes && values_ != nullptr ? p * values_[k] : p;
    }

    // About how often advance() will be called.
    void spread(int calls) {
        calls_ = calls;
        credit_ = 0;
        // Where there are few calls, the softmax takes longer than the products: fewer steps cost less.
        step_ = 4 * calls < 3 * steps(unit_, kStep) ? 2 * kStep : kStep;
        steps_ = steps(unit_, step_);
    }

    // That a unit takes which runs beside nothing.
    static int steps_alone(const AmxUnit& unit) { return steps(unit, 2 * kStep); }

    __attribute__((always_inline)) void advance() {
        credit_ += steps_;
        while (credit_ >= calls_ && row_ < unit_.rows) {
            credit_ -= calls_;
            step();
        }
    }

    // What is left to do, and the rows' sums; ahead.advance() is called beside it.
    template <class Ahead>
    void finish(Ahead& ahead) {
        for (; row_ < unit_.rows; ahead.advance()) step();
        for (int r = 0; r < unit_.rows; r += kLanes) {
            vf sums[kLanes];
            for (int i = 0; i < kLanes; i++) sums[i] = load<vf>(sums_[r + i]);
            float* row_sum = s_.row_sum + unit_.row + r;
            store(row_sum, load<vf>(row_sum) * load<vf>(sum_rescale_ + r) + sums_of(sums));
        }
    }

private:
    static constexpr int kStep = 64;  // columns of two rows; about as long as four multiplications
    static constexpr int32_t kLargestFused = (127 + 16) << 23;  // bits of 2^16

    static int steps(const AmxUnit& unit, int columns) {
        return unit.rows / 2 * ((unit.end - unit.begin + columns - 1) / columns);
    }

    // Of kLanes rows; leaves in s_.row_rescale what the rows' sums so far must be multiplied by.
    void find_reference(int r, const float (*tops)[kLanes]) {
        vf top[kLanes];
        for (int i = 0; i < kLanes; i++) {
            top[i] = load<vf>(tops[i]);
            store(sums_[r + i], vf{});
        }
        float* row_max = s_.row_max + unit_.row + r;
        const vf before = load<vf>(row_max);
        const vf now = max_number(maxima_of(top) * splat(factor_), before);
        // As in softmax_step: nothing but hidden scores so far must not become NaN.
        const vf kept = kept_reference(before, now);
        const vf reference = select(kept == -kInfinity, vf{}, kept);
        store(reference_ + r, reference);
        store(row_factor_ + r, splat(factor_));
        const vi is_large = (as_int(reference) & 0x7fffffff) > kLargestFused;
        if (any(is_large)) scale_rows(r, is_large);
        store(row_max, kept);
        const vf rescale = exp2_of_scores({{before}}, {{splat(1.0f)}}, {{reference}}).v[0];
        store(s_.row_rescale + unit_.row + r, rescale);
        store(sum_rescale_ + r, rescale);
    }

    // Scores are not rounded before the reference is taken from them, which itself is the rounded largest of them.
    // Where that difference would show, they are rounded, too.
    void scale_rows(int r, vi which) {
        for (int i = 0; i < kLanes; i++) {
            if (which[i] == 0) continue;
            float* scores = unit_.scores + (r + i) * kScoreStride;
            for (int c = unit_.begin; c < unit_.end; c += kLanes) {
                store(scores + c, load<vf>(scores + c) * splat(factor_));
            }
            row_factor_[r + i] = 1.0f;
        }
    }

    void step() {
        const int end = unit_.end < column_ + step_ ? unit_.end : column_ + step_;
        if (Operand::kTakesCodes && values_ != nullptr) {
            is_scaled_ ? weigh<true, Operand::kTakesCodes>(end) : weigh<false, Operand::kTakesCodes>(end);
        } else {
            is_scaled_ ? weigh<true, false>(end) : weigh<false, false>(end);
        }
        column_ = end;
        if (column_ < unit_.end) return;
        column_ = unit_.begin;
        row_ += 2;
    }

    template <bool kScaled, bool kWeighted>
    __attribute__((noinline)) void weigh(int end) {
        ScoreRow row[2];
        for (int i = 0; i < 2; i++) {
            const int r = row_ + i;
            row[i] = {unit_.scores + r * kScoreStride, splat(row_factor_[r]), splat(reference_[r]), splat(scale_[r]),
                      load<vf>(sums_[r])};
        }
        for (int c = column_; c < end; c += kAmxDepth) {
            weigh_pairs<Operand::kIsExact, kScaled, kWeighted>(row, values_, c);
        }
        for (int i = 0; i < 2; i++) store(sums_[row_ + i], row[i].sum);
    }

    const Scratch& s_;
    AmxUnit unit_ = {};
    float factor_ = 1.0f;
    const float* values_ = nullptr;
    bool is_scaled_ = false;
    int row_ = 0, column_ = 0;             // of the next step
    int step_ = kStep;                     // its columns
    int calls_ = 1, credit_ = 0, steps_ = 0;
    alignas(64) float row_factor_[kAmxUnitRows], reference_[kAmxUnitRows];
    alignas(64) float sum_rescale_[kAmxUnitRows];  // row_rescale without a change of headroom
    alignas(64) float scale_[kAmxUnitRows];
    alignas(64) float sums_[kAmxUnitRows][kLanes];
};

}  // namespace
}  // namespace acl_attn::engine
