// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows against one packed tile: scores, online softmax, and the sum of the values, kMr rows at a time.
#pragma once

#include "engine/ahead-inl.h"
#include "engine/block_rows-inl.h"
#include "engine/panels-inl.h"
#include "engine/residuals-inl.h"
#include "engine/softmax-inl.h"

namespace acl_attn::engine {
namespace {

// Keys of a value panel that are used together: what fits the first-level cache beside the accumulators.
template <class Operand>
constexpr int kValueChunk = kNr * kTileKeys * 4 / Operand::kDepth > 40960 ? 160 : kTileKeys;

template <class T, class Operand, class Owner>
class TileRows : protected BlockRows<Operand, Owner> {
    using Block = BlockRows<Operand, Owner>;

protected:
    using Block::kPaired;
    // Groups whose scores are held at a time: packed keys and values serve a whole block, which may have more rows than
    // scores fit the second-level cache.
    static constexpr int kStripGroups = kStripRows / kMr;
    static_assert(kStripRows % kMr == 0, "whole groups");

    TileRows(const RowBlock& block, const Scratch& scratch, const Panels<T, Operand>& panels)
        : Block(block, scratch, round_up(block.dim, kLanes) / Operand::kDepth), panels_(panels) {}

    void begin(int rows) {
        Block::begin(rows);
        for (int r = 0; r < groups_ * kMr; r++) load_query(r);
    }

    // The packed tile for groups [group_begin, group_end).
    void visit(int group_begin, int group_end, Ahead& ahead) {
        find_ranges(group_begin, group_end);
        share_values();
        const auto parts = [](int n, int size) { return (n + size - 1) / size; };
        const int score_calls = parts(panels_.end - panels_.column(0), kNr) * parts(panels_.steps, kKeySteps);
        const int value_calls = parts(b_.dim_v, kNr) * value_parts_;
        ahead.spread((group_end - group_begin) * (score_calls + value_calls));
        for (int strip = group_begin; strip < group_end; strip += kStripGroups) {
            strip_ = strip;
            strip_end_ = strip + kStripGroups < group_end ? strip + kStripGroups : group_end;
            score(ahead);
            for (int g = strip_; g < strip_end_; g++) softmax(g);
            accumulate(ahead);
        }
    }

    using Block::b_;
    using Block::s_;
    using Block::ldo_;
    using Block::ldq_;
    using Block::groups_;
    using Block::owner;

private:
    // The columns of the tile that a group of kMr rows sees: whole vectors of scores, and the keys whose values matter.
    struct Range {
        int begin, end;
        int first_key, end_key;
        bool empty() const { return begin >= end; }
    };

    using Block::any_aside_;
    using Block::has_sums_;

    void load_query(int r) {
        float* to = s_.query + r * ldq_;
        if constexpr (kPaired) {
            this->load_query_parts(r);
        } else if (owner().has_row(r)) {
            widen_query(b_, owner().head(r), owner().row(r), to);
        } else {
            __builtin_memset(to, 0, sizeof(float) * ldq_);
        }
    }

    // Of a row of the current strip.
    ptrdiff_t strip_row(int r) const { return r - strip_ * kMr; }
    float* scores(int r) const { return s_.scores + strip_row(r) * kScoreStride; }
    uint16_t* probabilities(int r) const { return s_.probabilities + strip_row(r) * kScoreStride; }
    ResidualList& residuals(int r) const { return s_.residuals[strip_row(r)]; }

    void find_ranges(int group_begin, int group_end) {
        for (int g = group_begin; g < group_end; g++) {
            const auto [first, end] = this->seen_columns(panels_, g, 1);
            const int begin_vector = round_down(first, kLanes), end_vector = round_up(end, kLanes);
            if (first >= end) {
                ranges_[g] = {0, 0, 0, 0};
            } else if constexpr (kPaired) {
                ranges_[g] = {begin_vector, end_vector, begin_vector, end_vector};
            } else {
                ranges_[g] = {begin_vector, end_vector, first, end};
            }
        }
    }

    void score(Ahead& ahead) {
        for (int p = 0; panels_.column(p) < panels_.end; p++) {
            for (int s = 0; s < panels_.steps; s += kKeySteps) score(p, s, ahead);
        }
    }

    // The products with some steps of a panel; the last ones are scaled, too.
    void score(int p, int first_step, Ahead& ahead) {
        const int column = panels_.column(p);
        const int left = panels_.steps - first_step;
        const bool is_last = left <= kKeySteps;
        const float scale = is_last ? this->scale() : 1.0f;
        const float* scales = is_last ? this->key_scales() : nullptr;
        const auto scale_of = [&](int vector) {
            return scales == nullptr ? splat(scale) : load<vf>(scales + column + vector * kLanes);
        };
        for (int g = strip_; g < strip_end_; g++) {
            const int columns = ranges_[g].end - column;
            if (columns <= 0 || ranges_[g].begin >= column + kNr) continue;
            const float* query = s_.query + g * kMr * ldq_ + first_step;
            with_vectors(columns, [&](auto used) {
                score_block<Operand, decltype(used)::value>(
                    query, this->query_parts(), this->query_part_size(), ldq_, panels_.key_panel(p) + first_step * kNr,
                    is_last ? left : kKeySteps, first_step > 0, scale_of, scores(g * kMr) + column, kScoreStride);
            });
            ahead.advance();
        }
    }

    // All rows take a step before the next one: what then waits for a row's sum does so beside other rows' work.
    void softmax(int g) {
        const Range range = ranges_[g];
        if (range.empty()) return;
        const int row = g * kMr;
        float largest[kMr];
        for (int r = row; r < row + kMr; r++) {
            if (!owner().has_row(r)) continue;
            owner().adjust_scores(r, owner().seen(r), range.begin, range.end, scores(r));
            largest[r - row] = largest_score(scores(r), range.begin, range.end);
        }
        for (int r = row; r < row + kMr; r++) {
            if (owner().has_row(r)) softmax(r, range, largest[r - row]);
        }
        if constexpr (kPaired) round_probabilities(row, range);
    }

    void softmax(int r, Range range, float largest) {
        const SoftmaxStep step = softmax_step(scores(r), range.begin, range.end, s_.row_max[r], largest);
        s_.row_max[r] = step.max;
        s_.row_sum[r] = s_.row_sum[r] * step.rescale + step.sum;
        s_.row_rescale[r] = step.rescale;
        if (panels_.exceptional) this->set_aside(r, panels_, {panels_.begin, panels_.end});
        if (s_.row_headroom[r] == 1.0f) return;
        for (int c = range.begin; c < range.end; c += kLanes) {
            store(scores(r) + c, load<vf>(scores(r) + c) * splat(kHugeHeadroom));
        }
    }

    // Of a group.
    void round_probabilities(int row, Range range) {
        typename Operand::Residuals::Row rounded[kMr];
        for (int r = row; r < row + kMr; r++) {
            if (owner().has_row(r)) {
                Operand::Residuals::round(scores(r), this->value_scales(), range.begin, range.end, probabilities(r),
                                          rounded[r - row]);
            } else {
                __builtin_memset(probabilities(r) + range.begin, 0, sizeof(uint16_t) * (range.end - range.begin));
                residuals(r).count = 0;
            }
        }
        for (int r = row; r < row + kMr; r++) {
            if (!owner().has_row(r)) continue;
            Operand::Residuals::list_large(rounded[r - row], range.begin, range.end, residuals(r));
        }
    }

    // Cuts the tile's keys into equal parts of what fits the cache. A row's bits are the same however many there are:
    // pairs take all keys at once.
    void share_values() {
        static_assert(!kPaired || kValueChunk<Operand> == kTileKeys, "residuals follow all of a tile's products");
        const int keys = round_up(panels_.end, kLanes) - panels_.column(0);
        value_parts_ = (keys + kValueChunk<Operand> - 1) / kValueChunk<Operand>;
        part_keys_ = round_up((keys + value_parts_ - 1) / value_parts_, kLanes);
    }

    void accumulate(Ahead& ahead) {
        alignas(64) static const float kOnes[kMr] = {1, 1, 1, 1, 1, 1};
        const float* panel = s_.value_panels;
        for (int c0 = 0; c0 < b_.dim_v; c0 += kNr, panel += panels_.value_panel_size()) {
            for (int part = panels_.column(0); part < panels_.end; part += part_keys_) {
                for (int g = strip_; g < strip_end_; g++) {
                    const Range& range = ranges_[g];
                    const int begin = range.first_key > part ? range.first_key : part;
                    const int end = range.end_key < part + part_keys_ ? range.end_key : part + part_keys_;
                    if (begin >= end) continue;
                    const float* rescale = begin > range.first_key ? kOnes
                                           : has_sums_[g]          ? s_.row_rescale + g * kMr
                                                                   : nullptr;
                    add_values(g, begin, end, rescale, panel, c0);
                    ahead.advance();
                }
            }
        }
        for (int g = strip_; g < strip_end_; g++) has_sums_[g] |= !ranges_[g].empty();
        if (kPaired && any_aside_) rescale_aside();
        if (panels_.exceptional) add_aside();
    }

    void add_values(int g, int begin, int end, const float* rescale, const float* panel, int c0) {
        const int r = g * kMr;
        const int first_step = begin / Operand::kDepth, steps = (end - begin) / Operand::kDepth;
        const float* seen = panel + first_step * kNr;
        float* out = s_.out + r * ldo_ + c0;
        with_vectors(b_.dim_v - c0, [&](auto used) {
            constexpr int kUsed = decltype(used)::value;
            if constexpr (kPaired) {
                value_block<Operand, kUsed>(reinterpret_cast<const float*>(probabilities(r)) + first_step,
                                            kScoreStride / 2, seen, steps, rescale, out, ldo_,
                                            typename Operand::Residuals(&residuals(r), panel));
            } else {
                value_block<Operand, kUsed>(scores(r) + begin, kScoreStride, seen, steps, rescale, out, ldo_);
            }
        });
    }

    void add_aside() {
        float* sums = kPaired ? this->aside() : s_.out;
        const float* values = this->value_scales();
        for (int r = strip_ * kMr; r < strip_end_ * kMr; r++) {
            if (!owner().has_row(r)) continue;
            Block::template add_aside<T>(
                r, panels_, {panels_.begin, panels_.end},
                [&](int k) { return values == nullptr ? scores(r)[k] : scores(r)[k] * values[k]; }, sums);
        }
    }

    void rescale_aside() {
        for (int r = strip_ * kMr; r < strip_end_ * kMr; r++) {
            if (ranges_[r / kMr].empty() || s_.row_rescale[r] == 1.0f) continue;
            this->scale_sums(s_.aside, r, s_.row_rescale[r]);
        }
    }

    const Panels<T, Operand>& panels_;
    int strip_ = 0, strip_end_ = 0;  // groups whose scores are held now
    int value_parts_ = 0, part_keys_ = 0;
    Range ranges_[Block::kMaxGroups];
};

}  // namespace
}  // namespace acl_attn::engine
