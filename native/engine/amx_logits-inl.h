// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Between the products with keys and the softmax: scores are scaled and hidden, biases added, and the largest of each
// row found; some columns at a time, right behind their products. Later, scores would have to be brought from the
// second-level cache and, where they change, written back to it, whose means the products need.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/amx_weights-inl.h"
#include "engine/bias-inl.h"

namespace acl_attn::engine {
namespace {

// What the rows of a unit add to their scores, and which they see.
struct AmxLogitRows {
    enum Adds { unscaled, nothing, numbers, slopes };
    Adds adds;               // to scaled scores, if they are scaled
    bool masks;              // a mask hides some
    int rows;
    TileColumns columns;     // that some row sees
    int all_begin, all_end;  // that all see but for the mask
    float factor;            // of scores, before biases are added
    const float* factors;    // of each column's; null: `factor`
    int begin[kAmxUnitRows], end[kAmxUnitRows];  // that a row sees but for the mask
    RowBias bias[kAmxUnitRows];
    const uint8_t* mask[kAmxUnitRows];  // of column 0
};

// T: what biases are.
template <class T>
class AmxLogits {
public:
    static constexpr int kColumns = 8 * kAmxColumns;  // that are worth a call

    // Begins a unit.
    void enter(const AmxUnit& unit, const AmxLogitRows* rows) {
        unit_ = unit;
        rows_ = rows;
        for (int r = 0; r < unit.rows; r++) store(tops_[r], splat(-kInfinity));
    }

    // Columns [column, end), the next ones; multiples of kAmxDepth.
    void take(int column, int end) {
        if (rows_ == nullptr) return take<AmxLogitRows::unscaled, false, false>(column, end);
        const bool cuts = column < rows_->all_begin || end > rows_->all_end;
        if (cuts && column + kAmxDepth < end) {  // only some of them
            take(column, column + kAmxDepth);
            return take(column + kAmxDepth, end);
        }
        switch (rows_->adds) {
            case AmxLogitRows::unscaled: return take<AmxLogitRows::unscaled>(column, end, cuts);
            case AmxLogitRows::nothing: return take<AmxLogitRows::nothing>(column, end, cuts);
            case AmxLogitRows::numbers: return take<AmxLogitRows::numbers>(column, end, cuts);
            case AmxLogitRows::slopes: return take<AmxLogitRows::slopes>(column, end, cuts);
        }
    }

    // The largest of each row, by lanes.
    const float (*tops() const)[kLanes] { return tops_; }

private:
    using Adds = AmxLogitRows::Adds;

    template <Adds kAdds>
    void take(int column, int end, bool cuts) {
        if (rows_->masks) return cuts ? take<kAdds, true, true>(column, end) : take<kAdds, true, false>(column, end);
        return cuts ? take<kAdds, false, true>(column, end) : take<kAdds, false, false>(column, end);
    }

    template <Adds kAdds, bool kMasks, bool kCuts>
    __attribute__((noinline)) void take(int column, int stop) {
        constexpr bool kScales = kAdds != AmxLogitRows::unscaled;
        constexpr bool kBiases = kScales && kAdds != AmxLogitRows::nothing;
        vf factors[kTileKeys / kLanes];
        for (int c = column; kScales && c < stop; c += kLanes) {
            factors[(c - column) / kLanes] = rows_->factors == nullptr ? splat(rows_->factor)
                                                                       : load<vf>(rows_->factors + c);
        }
        for (int r = 0; r < unit_.rows; r++) {
            float* scores = unit_.scores + r * kScoreStride;
            vf top = load<vf>(tops_[r]);
            // Copies, which stores cannot change.
            const RowBias bias = kBiases ? rows_->bias[r] : RowBias();
            const uint8_t* mask = kMasks ? rows_->mask[r] : nullptr;
            const int row_begin = kCuts ? rows_->begin[r] : 0, row_end = kCuts ? rows_->end[r] : 0;
            for (int c = column; c < stop; c += kLanes) {
                vf x = load<vf>(scores + c);
                const int begin = kCuts ? row_begin : c, end = kCuts ? row_end : c + kLanes;
                const vf factor = kScales ? factors[(c - column) / kLanes] : vf{};
                if constexpr (kAdds == AmxLogitRows::nothing) x = x * factor;
                if constexpr (kAdds == AmxLogitRows::numbers) x = fma(x, factor, bias.number_at<T>(c, begin, end));
                if constexpr (kAdds == AmxLogitRows::slopes) x = fma(x, factor, bias.slope_at(c));
                if constexpr (kMasks) {
                    const vb hidden = load_between<vb>(mask, c, begin, end);
                    x = select(extend(hidden) == 0, x, splat(-kInfinity));
                }
                if constexpr (kCuts) {
                    const vi key = lane_index() + c;
                    x = select((key >= begin) & (key < end), x, splat(-kInfinity));
                }
                if constexpr (kScales || kMasks || kCuts) store(scores + c, x);
                top = max_number(x, top);
            }
            store(tops_[r], top);
        }
    }

    AmxUnit unit_ = {};
    const AmxLogitRows* rows_ = nullptr;  // null: scores stay as they are
    alignas(64) float tops_[kAmxUnitRows][kLanes];
};

}  // namespace
}  // namespace acl_attn::engine
