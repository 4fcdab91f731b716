// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Few rows: keys and values go through registers once, as dot products and scaled sums for all rows of the block, without
// packing. The work is bound by memory, so all arithmetic is fp32.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/finish-inl.h"
#include "engine/gemm-inl.h"
#include "engine/softmax-inl.h"

namespace acl_attn::engine {
namespace {

inline void prefetch_row(const uint16_t* row, int dim) {
    for (int d = 0; d < dim; d += 32) prefetch(row + d);
}

// scores[r][k] = scale * query[r] . keys[k] for kRows rows and kLanes / kRows keys; `count` of these keys exist.
template <class T, int kRows>
inline void dot_keys(const float* query, ptrdiff_t ldq, int dim, const uint16_t* const* keys, int count, float scale,
                     float* scores, ptrdiff_t lds) {
    constexpr int kKeys = kLanes / kRows;
    const uint16_t* key[kKeys];
    for (int k = 0; k < kKeys; k++) key[k] = keys[k < count ? k : count - 1];
    vf acc[kLanes] = {};
    int d = 0;
    for (; d + kLanes <= dim; d += kLanes) {
        vf row[kRows];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) row[r] = load<vf>(query + r * ldq + d);
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) {
            const vf x = load_wide<T>(key[k] + d);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) acc[r * kKeys + k] = fma(row[r], x, acc[r * kKeys + k]);
        }
    }
    if (d < dim) {
        for (int k = 0; k < kKeys; k++) {
            const vf x = load_wide_part<T>(key[k] + d, dim - d);
            for (int r = 0; r < kRows; r++) acc[r * kKeys + k] = fma(load<vf>(query + r * ldq + d), x, acc[r * kKeys + k]);
        }
    }
    float result[kLanes];
    store(result, sums_of(acc) * splat(scale));
    for (int r = 0; r < kRows; r++) {
        for (int k = 0; k < kKeys && k < count; k++) scores[r * lds + k] = result[r * kKeys + k];
    }
}

// out[r][c] = out[r][c] * rescale[r] + sum over k of probabilities[r][k] * values[k][c] for kRows rows and kUsed vectors
// of columns, the last of which may have fewer than kLanes elements (`tail`, 0: whole) in memory.
template <class T, int kRows, int kUsed>
inline void add_scaled_values(const float* probabilities, ptrdiff_t ldp, const uint16_t* const* values, int count,
                              int column, int tail, const float* rescale, float* out, ptrdiff_t ldo) {
    vf acc[kRows][kUsed];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) acc[r][c] = load<vf>(out + r * ldo + c * kLanes) * splat(rescale[r]);
    }
    for (int k = 0; k < count; k++) {
        const uint16_t* value = values[k] + column;
        vf x[kUsed];
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) {
            x[c] = c + 1 == kUsed && tail != 0 ? load_wide_part<T>(value + c * kLanes, tail)
                                               : load_wide<T>(value + c * kLanes);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
            const vf p = splat(probabilities[r * ldp + k]);
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) acc[r][c] = fma(p, x[c], acc[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) store(out + r * ldo + c * kLanes, acc[r][c]);
    }
}

// Calls body(first row, row count as a constant) for blocks of 4, 2 and 1 rows.
template <class Body>
inline void for_row_blocks(int rows, Body body) {
    int r = 0;
    for (; r + 4 <= rows; r += 4) body(r, Constant<4>{});
    for (; r + 2 <= rows; r += 2) body(r, Constant<2>{});
    for (; r < rows; r++) body(r, Constant<1>{});
}

template <class T>
class Decode {
public:
    // `careful` looks for exceptional values everywhere, otherwise only where some row does not see some key.
    Decode(const RowBlock& block, const Scratch& scratch, bool careful)
        : b_(block), s_(scratch), careful_(careful), rows_(static_cast<int>(block.row_end - block.row_begin)),
          ldq_(round_up(block.dim, kLanes)), ldo_(round_up(block.dim_v, kLanes)),
          span_(visible_keys(block, block.row_begin, block.row_end)) {}

    void accumulate() {
        for (int r = 0; r < rows_; r++) {
            s_.row_max[r] = -kInfinity;
            s_.row_sum[r] = 0.0f;
            s_.row_headroom[r] = 1.0f;
            widen_query<T>(b_, b_.row_begin + r, s_.query + r * ldq_);
        }
        __builtin_memset(s_.out, 0, sizeof(float) * rows_ * ldo_);
        if (span_.empty()) return;
        locate_rows(b_.key, span_.begin, span_.end, s_.key_rows);
        locate_rows(b_.value, span_.begin, span_.end, s_.value_rows);
        for (int64_t tile = span_.begin / kStreamKeys * kStreamKeys; tile < span_.end; tile += kStreamKeys) {
            tile_ = tile;
            begin_ = static_cast<int>(larger(span_.begin - tile, 0));
            end_ = static_cast<int>(smaller(span_.end - tile, kStreamKeys));
            keys_ = s_.key_rows + (tile + begin_ - span_.begin);
            values_ = s_.value_rows + (tile + begin_ - span_.begin);
            stage();
            score();
            softmax();
            add_values();
        }
    }

    RowState state(int r) const { return {s_.row_max[r], s_.row_sum[r], s_.row_headroom[r]}; }
    const float* out(int r) const { return s_.out + r * ldo_; }

    // Whether the accumulators overflowed or met an infinity or NaN.
    bool is_suspect(int r) const {
        vi suspect = {};
        for (int c = 0; c < ldo_; c += kLanes) suspect |= (as_int(load<vf>(out(r) + c)) & 0x7f800000) == 0x7f800000;
        return any(suspect);
    }

private:
    void stage() {
        const int count = end_ - begin_;
        if (is_chunked(b_.key)) stage_rows(b_.key, keys_, count, s_.key_staging, ldq_);
        if (is_chunked(b_.value)) stage_rows(b_.value, values_, count, s_.value_staging, ldo_);
        exceptional_ = false;
        if (careful_ || !is_seen_by_all()) {
            exceptional_ = set_aside<T, false>(values_, 0, count, b_.dim_v, s_.zeros, s_.value_classes,
                                               s_.value_originals);
        }
    }

    bool is_seen_by_all() const {
        return b_.mask == nullptr && visible_keys(b_, b_.row_begin).end >= tile_ + end_ &&
               visible_keys(b_, b_.row_end - 1).begin <= tile_ + begin_;
    }

    float* scores(int r) const { return s_.scores + static_cast<ptrdiff_t>(r) * kScoreStride; }

    void score() {
        const int count = end_ - begin_;
        if (!is_chunked(b_.value)) {
            for (int k = 0; k < count; k++) prefetch_row(values_[k], b_.dim_v);
        }
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            constexpr int kRows = decltype(block_rows)::value;
            for (int k = 0; k < count; k += kLanes / kRows) {
                dot_keys<T, kRows>(s_.query + r * ldq_, ldq_, b_.dim, keys_ + k, count - k, b_.scale,
                                   scores(r) + begin_ + k, kScoreStride);
            }
        });
    }

    void softmax() {
        const int first = round_down(begin_, kLanes), last = round_up(end_, kLanes);
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            const Interval seen = visible_keys(b_, row);
            if (b_.mask != nullptr || seen.begin > tile_ + first || seen.end < tile_ + last) {
                hide_scores(b_, row, seen, tile_, first, last, scores(r));
            }
            const SoftmaxStep step = softmax_step(scores(r), first, last, s_.row_max[r]);
            s_.row_max[r] = step.max;
            s_.row_sum[r] = s_.row_sum[r] * step.rescale + step.sum;
            s_.row_rescale[r] = step.rescale;
            if (exceptional_ && s_.row_headroom[r] == 1.0f &&
                sees_huge(b_, row, seen, tile_ + begin_, 0, end_ - begin_, s_.value_classes)) {
                s_.row_headroom[r] = kHugeHeadroom;
                s_.row_rescale[r] *= kHugeHeadroom;
            }
            if (s_.row_headroom[r] != 1.0f) {
                for (int c = first; c < last; c += kLanes) {
                    store(scores(r) + c, load<vf>(scores(r) + c) * splat(kHugeHeadroom));
                }
            }
        }
    }

    void add_values() {
        const int count = end_ - begin_;
        const int64_t ahead = tile_ + end_ - span_.begin;  // the next tile's first key
        if (!is_chunked(b_.key)) {
            for (int64_t k = ahead; k < ahead + kStreamKeys && k < span_.end - span_.begin; k++) {
                prefetch_row(s_.key_rows[k], b_.dim);
            }
        }
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            constexpr int kRows = decltype(block_rows)::value;
            for (int c = 0; c < b_.dim_v; c += kNr) {
                const int columns = b_.dim_v - c < kNr ? b_.dim_v - c : kNr;
                with_vectors(columns, [&](auto used) {
                    add_scaled_values<T, kRows, decltype(used)::value>(
                        scores(r) + begin_, kScoreStride, values_, count, c, columns % kLanes, s_.row_rescale + r,
                        s_.out + r * ldo_ + c, ldo_);
                });
            }
        });
        if (!exceptional_) return;
        for (int r = 0; r < rows_; r++) {
            const int64_t row = b_.row_begin + r;
            add_set_aside<T>(b_, row, visible_keys(b_, row), tile_ + begin_, 0, count, s_.value_classes,
                             s_.value_originals, [&](int k) { return scores(r)[begin_ + k]; }, s_.out + r * ldo_);
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const bool careful_;
    const int rows_, ldq_, ldo_;
    const Interval span_;
    int64_t tile_ = 0;                   // first key of the tile
    int begin_ = 0, end_ = 0;            // columns of the tile that any row of the block sees
    const uint16_t** keys_ = nullptr;    // their rows
    const uint16_t** values_ = nullptr;
    bool exceptional_ = false;           // some value of the tile was set aside
};

template <class T>
void decode(const RowBlock& block, const Scratch& scratch) {
    uint32_t suspects = 0;
    {
        Decode<T> rows(block, scratch, false);
        rows.accumulate();
        for (int64_t row = block.row_begin; row < block.row_end; row++) {
            const int r = static_cast<int>(row - block.row_begin);
            // Only bf16 holds finite values whose sum overflows.
            if (T::kExponent == BF16::kExponent && rows.is_suspect(r)) {
                suspects |= 1u << r;
            } else {
                finish_row<T>(block, row, rows.out(r), rows.state(r));
            }
        }
    }
    // Again by itself, so that the others keep the bits they would have without it.
    for (int r = 0; suspects >> r != 0; r++) {
        if ((suspects >> r & 1u) == 0) continue;
        const int64_t row = block.row_begin + r;
        RowBlock single = block;
        single.row_begin = row;
        single.row_end = row + 1;
        Decode<T> again(single, scratch, true);
        again.accumulate();
        finish_row<T>(block, row, again.out(0), again.state(0));
    }
}

}  // namespace
}  // namespace acl_attn::engine
