// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Many rows: keys and values are packed once per tile and used by all rows of the block, kMr rows at a time.
#pragma once

#include "engine/bias-inl.h"
#include "engine/decode-inl.h"
#include "engine/finish-inl.h"
#include "engine/softmax-inl.h"
#include "engine/tile-inl.h"

namespace acl_attn::engine {
namespace {

// Keys of a value panel that are used together: what fits the first-level cache beside the accumulators.
template <class Operand>
constexpr int kValueChunk = kNr * kTileKeys * 4 / Operand::kDepth > 32768 ? 128 : kTileKeys;

template <class T, class Operand>
class Prefill {
public:
    Prefill(const RowBlock& block, const Scratch& scratch) : b_(block), s_(scratch), tile_(block, scratch) {}

    void run() {
        begin();
        for (bool more = tile_.first(); more; more = tile_.next()) {
            find_ranges();
            tile_.pack();
            typename Tile<T, Operand>::Ahead ahead(tile_, groups_ * (kTileKeys / kNr));
            for (int strip = 0; strip < groups_; strip += kStripGroups) {
                strip_ = strip;
                strip_end_ = strip + kStripGroups < groups_ ? strip + kStripGroups : groups_;
                score(ahead);
                for (int g = strip_; g < strip_end_; g++) softmax(g);
                accumulate();
            }
        }
        if (any_aside_) join_aside();
        for (int r = 0; r < rows_; r++) {
            if (kPaired && is_extreme(r)) continue;
            finish_row(b_, 0, b_.row_begin + r, s_.out + r * ldo_,
                          {s_.row_max[r], s_.row_sum[r], s_.row_headroom[r]});
        }
        if constexpr (kPaired) compute_extreme_rows();
    }

private:
    static constexpr bool kPaired = Operand::kDepth == 2;
    // Groups whose scores are held at a time: packed keys and values serve a whole block, which may have more rows than
    // scores fit the second-level cache.
    static constexpr int kStripGroups = kStripRows / kMr;
    static_assert(kStripRows % kMr == 0 && kMaxBlockRows % kMr == 0, "whole groups");

    // The columns of the tile, whole vectors, that a group of kMr rows sees.
    struct Range {
        int begin, end;
        bool empty() const { return begin >= end; }
    };

    void begin() {
        rows_ = static_cast<int>(b_.row_end - b_.row_begin);
        groups_ = (rows_ + kMr - 1) / kMr;
        ldo_ = round_up(b_.dim_v, kLanes);
        ldq_ = round_up(b_.dim, kLanes) / Operand::kDepth;
        const int padded_rows = groups_ * kMr;
        __builtin_memset(s_.out, 0, sizeof(float) * padded_rows * ldo_);
        for (int r = 0; r < padded_rows; r++) {
            s_.row_max[r] = -kInfinity;
            s_.row_sum[r] = 0.0f;
            s_.row_rescale[r] = 1.0f;
            s_.row_headroom[r] = 1.0f;
        }
        for (int r = 0; r < padded_rows; r++) load_query(r);
    }

    void load_query(int r) {
        float* to = s_.query + r * ldq_;
        if (r >= rows_) {
            __builtin_memset(to, 0, sizeof(float) * ldq_);
        } else if constexpr (kPaired) {
            __builtin_memset(to, 0, sizeof(float) * ldq_);
            uint16_t* codes = reinterpret_cast<uint16_t*>(to);
            copy_query(b_, 0, b_.row_begin + r, codes);
            if (has_extremes(codes, 2 * ldq_)) extreme_rows_[r / 64] |= uint64_t{1} << r % 64;
        } else {
            widen_query(b_, 0, b_.row_begin + r, to);
        }
    }

    // The pair instruction takes subnormal operands for 0, which shows in a score where the other factor is huge. Rows
    // of such queries are computed in fp32, each by itself: the others keep the bits they would have without them.
    static bool has_extremes(const uint16_t* query, int dim) {
        constexpr uint16_t kHuge = (127 + 90) << 7, kInfinite = BF16::kExponent, kNormal = 1 << 7;
        vh found = {};
        for (int d = 0; d < dim; d += kLanes) {
            const vh x = load<vh>(query + d) & uint16_t{0x7fff};
            found |= reinterpret_cast<vh>(((x >= kHuge) & (x < kInfinite)) | ((x < kNormal) & (x != 0)));
        }
        return any(reinterpret_cast<vi>(extend(found)));
    }

    bool is_extreme(int r) const { return (extreme_rows_[r / 64] >> r % 64 & 1) != 0; }

    void compute_extreme_rows() {
        for (int r = 0; r < rows_; r++) {
            if (!is_extreme(r)) continue;
            const int64_t row = b_.row_begin + r;
            const RowBlock single = single_row(b_, 0, row);
            Decode<T> again(single, s_, true);
            again.accumulate();
            finish_row(b_, 0, row, again.out(0), again.state(0));
        }
    }

    // Of a row of the current strip.
    ptrdiff_t strip_row(int r) const { return r - strip_ * kMr; }
    float* scores(int r) const { return s_.scores + strip_row(r) * kScoreStride; }
    uint16_t* probabilities(int r) const { return s_.probabilities + strip_row(r) * kScoreStride; }
    uint16_t* residuals(int r) const { return s_.probabilities + (kStripRows + strip_row(r)) * kScoreStride; }

    void find_ranges() {
        for (int g = 0; g < groups_; g++) {
            const int64_t first = b_.row_begin + g * kMr;
            const Interval seen = visible_keys(b_, first, smaller(first + kMr, b_.row_end));
            const int64_t begin = larger(seen.begin - tile_.key, tile_.begin);
            const int64_t end = smaller(seen.end - tile_.key, tile_.end);
            ranges_[g] = begin < end ? Range{round_down(static_cast<int>(begin), kLanes),
                                             round_up(static_cast<int>(end), kLanes)}
                                     : Range{0, 0};
        }
    }

    template <class Ahead>
    void score(Ahead& ahead) {
        for (int p = tile_.begin / kNr; p * kNr < tile_.end; p++) {
            for (int g = strip_; g < strip_end_; g++) {
                const int columns = ranges_[g].end - p * kNr;
                if (columns <= 0 || ranges_[g].begin >= (p + 1) * kNr) continue;
                with_vectors(columns, [&](auto used) {
                    score_block<Operand, decltype(used)::value>(s_.query + g * kMr * ldq_, ldq_, tile_.key_panel(p),
                                                                tile_.steps, b_.scale, scores(g * kMr) + p * kNr,
                                                                kScoreStride);
                });
                ahead.advance();
            }
        }
    }

    void softmax(int g) {
        const Range range = ranges_[g];
        if (range.empty()) return;
        for (int r = g * kMr; r < (g + 1) * kMr && r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            const Interval seen = visible_keys(b_, row);
            if (b_.bias.kind != BiasKind::none) {
                add_bias(b_, 0, row, seen, tile_.key, range.begin, range.end, scores(r));
            }
            if (b_.mask != nullptr || seen.begin > tile_.key + range.begin || seen.end < tile_.key + range.end) {
                hide_scores(b_, row, seen, tile_.key, range.begin, range.end, scores(r));
            }
            const SoftmaxStep step = softmax_step(scores(r), range.begin, range.end, s_.row_max[r]);
            s_.row_max[r] = step.max;
            s_.row_sum[r] = s_.row_sum[r] * step.rescale + step.sum;
            s_.row_rescale[r] = step.rescale;
            if (tile_.exceptional && s_.row_headroom[r] == 1.0f &&
                sees_huge(b_, row, seen, tile_.key, tile_.begin, tile_.end, s_.value_classes)) {
                s_.row_headroom[r] = kHugeHeadroom;
                s_.row_rescale[r] *= kHugeHeadroom;
            }
            if (s_.row_headroom[r] != 1.0f) {
                for (int c = range.begin; c < range.end; c += kLanes) {
                    store(scores(r) + c, load<vf>(scores(r) + c) * splat(kHugeHeadroom));
                }
            }
            if constexpr (kPaired) round_probabilities(r, range);
        }
        if constexpr (kPaired) {
            for (int r = rows_; r < (g + 1) * kMr; r++) {
                __builtin_memset(probabilities(r) + range.begin, 0, sizeof(uint16_t) * (range.end - range.begin));
                __builtin_memset(residuals(r) + range.begin, 0, sizeof(uint16_t) * (range.end - range.begin));
            }
        }
    }

    void round_probabilities(int r, Range range) {
        for (int c = range.begin; c < range.end; c += kLanes) {
            const vf p = load<vf>(scores(r) + c);
            const vh rounded = narrow_normal(p);
            store(probabilities(r) + c, rounded);
            if (has_residual(c)) store(residuals(r) + c, narrow_normal(p - widen(BF16{}, rounded)));
        }
    }

    void accumulate() {
        alignas(64) static const float kOnes[kMr] = {1, 1, 1, 1, 1, 1};
        const float* panel = s_.value_panels;
        for (int c0 = 0; c0 < b_.dim_v; c0 += kNr, panel += tile_.value_panel_size()) {
            for (int chunk = 0; chunk < kTileKeys; chunk += kValueChunk<Operand>) {
                for (int g = strip_; g < strip_end_; g++) {
                    const int begin = ranges_[g].begin > chunk ? ranges_[g].begin : chunk;
                    const int chunk_end = chunk + kValueChunk<Operand>;
                    const int end = ranges_[g].end < chunk_end ? ranges_[g].end : chunk_end;
                    if (begin >= end) continue;
                    const float* rescale = begin == ranges_[g].begin ? s_.row_rescale + g * kMr : kOnes;
                    add_values(g, begin, end, rescale, panel + begin / Operand::kDepth * kNr, c0);
                }
            }
        }
        if (kPaired && any_aside_) rescale_aside();
        if (tile_.exceptional) add_aside();
    }

    void add_aside() {
        // The pair instruction takes subnormal accumulators for 0: what may be subnormal is summed elsewhere.
        float* sums = kPaired ? s_.aside : s_.out;
        if (kPaired && !any_aside_) {
            any_aside_ = true;
            __builtin_memset(sums, 0, sizeof(float) * rows_ * ldo_);
        }
        for (int r = strip_ * kMr; r < strip_end_ * kMr && r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            add_set_aside<T>(b_, row, visible_keys(b_, row), tile_.key, tile_.begin, tile_.end, s_.value_classes,
                             s_.value_originals, [&](int k) { return scores(r)[k]; }, sums + r * ldo_);
        }
    }

    void rescale_aside() {
        for (int r = strip_ * kMr; r < strip_end_ * kMr && r < rows_; r++) {
            if (ranges_[r / kMr].empty() || s_.row_rescale[r] == 1.0f) continue;
            float* sums = s_.aside + r * ldo_;
            for (int c = 0; c < ldo_; c += kLanes) store(sums + c, load<vf>(sums + c) * splat(s_.row_rescale[r]));
        }
    }

    void join_aside() {
        for (int i = 0; i < rows_ * ldo_; i += kLanes) {
            store(s_.out + i, load<vf>(s_.out + i) + load<vf>(s_.aside + i));
        }
    }

    void add_values(int g, int begin, int end, const float* rescale, const float* panel, int c0) {
        const int r = g * kMr;
        const int steps = (end - begin) / Operand::kDepth;
        float* out = s_.out + r * ldo_ + c0;
        with_vectors(b_.dim_v - c0, [&](auto used) {
            constexpr int kUsed = decltype(used)::value;
            if constexpr (kPaired) {
                value_block<Operand, kUsed>(reinterpret_cast<const float*>(probabilities(r) + begin),
                                            reinterpret_cast<const float*>(residuals(r) + begin), kScoreStride / 2,
                                            panel, begin, steps, rescale, out, ldo_);
            } else {
                value_block<Operand, kUsed>(scores(r) + begin, nullptr, kScoreStride, panel, begin, steps, rescale, out,
                                            ldo_);
            }
        });
    }

    const RowBlock& b_;
    const Scratch& s_;
    Tile<T, Operand> tile_;
    int rows_ = 0, groups_ = 0;
    int strip_ = 0, strip_end_ = 0;  // groups whose scores are held now
    int ldo_ = 0, ldq_ = 0;
    bool any_aside_ = false;         // s_.aside holds sums
    Range ranges_[kMaxBlockRows / kMr];
    uint64_t extreme_rows_[kMaxBlockRows / 64] = {};
};

template <class T, class Operand>
void prefill(const RowBlock& block, const Scratch& scratch) {
    Prefill<T, Operand>(block, scratch).run();
}

}  // namespace
}  // namespace acl_attn::engine
