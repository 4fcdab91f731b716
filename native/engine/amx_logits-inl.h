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
    bool adds, masks;        // biases, or only a factor; a mask hides some
    bool is_biased;
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
    static constexpr int kColumns = 2 * kAmxColumns;  // at a time

    // Begins a unit.
    void enter(const AmxUnit& unit, const AmxLogitRows* rows) {
        unit_ = unit;
        rows_ = rows;
        for (int r = 0; r < unit.rows; r++) store(tops_[r], splat(-kInfinity));
    }

    // The next columns.
    void take(int column) {
        if (rows_ == nullptr) return take<false, false, false>(column);
        const bool cuts = column < rows_->all_begin || column + kColumns > rows_->all_end;
        if (rows_->adds) {
            if (rows_->masks) return cuts ? take<true, true, true>(column) : take<true, true, false>(column);
            return cuts ? take<true, false, true>(column) : take<true, false, false>(column);
        }
        if (rows_->masks) return cuts ? take<false, true, true>(column) : take<false, true, false>(column);
        return cuts ? take<false, false, true>(column) : take<false, false, false>(column);
    }

    // The largest of each row, by lanes.
    const float (*tops() const)[kLanes] { return tops_; }

private:
    template <bool kAdds, bool kMasks, bool kCuts>
    __attribute__((noinline)) void take(int column) {
        vf factors[kColumns / kLanes] = {};
        for (int i = 0; kAdds && i < kColumns / kLanes; i++) {
            factors[i] = rows_->factors == nullptr ? splat(rows_->factor)
                                                   : load<vf>(rows_->factors + column + i * kLanes);
        }
        for (int r = 0; r < unit_.rows; r++) {
            float* scores = unit_.scores + r * kScoreStride;
            vf top = load<vf>(tops_[r]);
            for (int c = column; c < column + kColumns; c += kLanes) {
                vf x = load<vf>(scores + c);
                const int begin = kCuts ? rows_->begin[r] : c, end = kCuts ? rows_->end[r] : c + kLanes;
                if constexpr (kAdds) {
                    const vf factor = factors[(c - column) / kLanes];
                    x = rows_->is_biased ? fma(x, factor, rows_->bias[r].template at<T>(c, begin, end)) : x * factor;
                }
                if constexpr (kMasks) {
                    const vb hidden = load_between<vb>(rows_->mask[r], c, begin, end);
                    x = select(extend(hidden) == 0, x, splat(-kInfinity));
                }
                if constexpr (kCuts) {
                    const vi key = lane_index() + c;
                    x = select((key >= begin) & (key < end), x, splat(-kInfinity));
                }
                if constexpr (kAdds || kMasks || kCuts) store(scores + c, x);
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
