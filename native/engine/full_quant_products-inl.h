// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two products of quantised numbers for a group of rows, from packed panels: on vectors, or on AMX. Both have
//   kGroup, kColumns             rows and columns that are computed together;
//   kBlockRows                   most rows of a block;
//   kOverlaps                    whether something else may run beside them: they call beside() again and again;
//   scores(query, c, count, to)  sums of keys for `count` columns from c on, at most kColumns; as fp32, or, for
//                                kRaw, integers as they are;
//   sums(weights, ..., join)     join(row, channel, vector) for each vector of the group's sums of values.
#pragma once

#include "engine/amx_products-inl.h"
#include "engine/full_quant_tile-inl.h"

namespace acl_attn::engine {
namespace {

// A group of rows in 32-bit elements, and the first's integer start (FullQuantScratch::row_start).
struct QuantQuery {
    const float *rows, *rope;
    ptrdiff_t stride, rope_stride;
    const int32_t* start;
    int count;  // the others are zeros
};

struct QuantWeights {
    const float* rows;  // of column 0
    ptrdiff_t stride;
    int begin, end;     // columns
    int count;          // of rows; the others are zeros
};

template <class A, class Tile, bool kRaw>
class VectorProducts {
public:
    static constexpr bool kOverlaps = false;
    static constexpr int kGroup = kMr;
    static constexpr int kColumns = kNr;
    static constexpr int kBlockRows = VectorOperand::kBlockRows;

    VectorProducts(const Tile& tile, int dim_v) : tile_(tile), dim_v_(dim_v) {}

    template <class Beside>
    void scores(const QuantQuery& query, int column, int count, float* to, ptrdiff_t stride, Beside) const {
        with_vectors(count, [&](auto used) { block<decltype(used)::value>(query, column, to, stride); });
    }

    template <class Join, class Beside>
    void sums(const QuantWeights& weights, int channel, Join join, Beside) const {
        with_vectors(dim_v_ - channel, [&](auto used) {
            value_block<decltype(used)::value>(weights, tile_.value_panel(channel), join);
        });
    }

private:
    using Rope = typename A::Rope;

    template <int kUsed>
    __attribute__((noinline)) void block(const QuantQuery& query, int column, float* to, ptrdiff_t stride) const {
        Accumulators<typename A::Scores, kUsed> acc;
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) acc.v[i][c] = as_float(splat_int(query.start[i]));
        }
        acc.add(query.rows, query.stride, tile_.key_panel(column), tile_.steps);
        Accumulators<typename Rope::Scores, kUsed> sums;
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) sums.v[i][c] = kRaw ? acc.v[i][c] : sums_as_float<A>(acc.v[i][c]);
        }
        if (!kRaw && tile_.rope_steps > 0) {
            sums.add(query.rope, query.rope_stride, tile_.rope_panel(column), tile_.rope_steps);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) store(to + i * stride + c * kLanes, sums.v[i][c]);
        }
    }

    template <int kUsed, class Join>
    __attribute__((noinline)) void value_block(const QuantWeights& weights, const float* panel, Join join) const {
        const int begin = weights.begin / kUnit<A>, end = weights.end / kUnit<A>;
        Accumulators<typename A::Values, kUsed> acc = {};
        acc.add(weights.rows + begin, weights.stride, panel + begin * kNr, end - begin);
#pragma GCC unroll 8
        for (int i = 0; i < kMr; i++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) join(i, c * kLanes, sums_as_float<A>(acc.v[i][c]));
        }
    }

    const Tile& tile_;
    const int dim_v_;
};

template <class A, class Tile, bool kRaw>
class AmxProducts {
public:
    static constexpr bool kOverlaps = true;
    static constexpr int kGroup = kAmxUnitRows;
    static constexpr int kColumns = 2 * kAmxColumns;
    static constexpr int kBlockRows = AmxOperand<1>::kBlockRows;

    AmxProducts(const Tile& tile, int dim_v) : tile_(tile), dim_v_(dim_v) {}

    template <class Beside>
    void scores(const QuantQuery& query, int column, int, float* to, ptrdiff_t stride, Beside beside) const {
        with_rows(query.count, [&](auto rows) { block<decltype(rows)::value>(query, column, to, stride, beside); });
    }

    template <class Join, class Beside>
    void sums(const QuantWeights& weights, int channel, Join join, Beside beside) const {
        with_rows(weights.count, [&](auto rows) {
            constexpr int kRows = decltype(rows)::value;
            if (channel + kAmxColumns < dim_v_) {
                value_block<kRows, 2>(weights, channel, join, beside);
            } else {
                value_block<kRows, 1>(weights, channel, join, beside);
            }
        });
    }

private:
    using Rope = typename A::Rope;

    template <class Body>
    static void with_rows(int count, Body body) {
        count > kAmxRows ? body(Constant<2>{}) : body(Constant<1>{});
    }

    template <class Operand, class Block, class Beside>
    static void add(const float* left, ptrdiff_t stride, const float* right, ptrdiff_t panel_size, int steps,
                    Beside& beside) {
        for (int s = 0; s < steps; s += kAmxRows, left += kAmxColumns, right += kAmxRows * kAmxColumns) {
            Block::load_left(left, stride);
            Block::load_right(right, panel_size);
            Block::template multiply<typename Operand::Product>();
            beside();
        }
    }

    template <int kRows, class Beside>
    void block(const QuantQuery& query, int column, float* to, ptrdiff_t stride, Beside& beside) const {
        using Block = AmxBlock<kRows, 2>;
        Block::zero();
        add<typename A::Scores, Block>(query.rows, query.stride, tile_.key_panel(column), tile_.steps * kAmxColumns,
                                       tile_.steps, beside);
        if constexpr (A::kIsInteger && !kRaw) {
            Block::store(to, stride);
            for (int i = 0; i < kRows * kAmxRows; i++) {
                for (int c = 0; c < kColumns; c += kLanes) {
                    float* p = to + i * stride + c;
                    store(p, sums_as_float<A>(load<vf>(p)));
                }
            }
            Block::load(to, stride);
        }
        if (!kRaw && tile_.rope_steps > 0) {
            add<typename Rope::Scores, Block>(query.rope, query.rope_stride, tile_.rope_panel(column),
                                              tile_.rope_steps * kAmxColumns, tile_.rope_steps, beside);
        }
        Block::store(to, stride);
    }

    template <int kRows, int kPanels, class Join, class Beside>
    void value_block(const QuantWeights& weights, int channel, Join join, Beside& beside) const {
        using Block = AmxBlock<kRows, kPanels>;
        const int begin = weights.begin / kUnit<A>, end = weights.end / kUnit<A>;
        Block::zero();
        add<typename A::Values, Block>(weights.rows + begin, weights.stride,
                                       tile_.value_panel(channel) + begin * kAmxColumns, Tile::kValuePanel,
                                       end - begin, beside);
        alignas(64) float sum[kGroup][kColumns];
        Block::store(sum[0], kColumns);
        const int channels = dim_v_ - channel < kColumns ? dim_v_ - channel : kColumns;
        for (int i = 0; i < kRows * kAmxRows; i++) {
            for (int c = 0; c < channels; c += kLanes) join(i, c, sums_as_float<A>(load<vf>(sum[i] + c)));
        }
    }

    const AmxSession session_;
    const Tile& tile_;
    const int dim_v_;
};

}  // namespace
}  // namespace acl_attn::engine
