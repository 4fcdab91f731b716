// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile on AMX, for up to 32 rows and 32 columns at a time: four sums in registers need as many
// loads as multiplications, which is what the first-level cache supplies. Between multiplications something else may
// run. Every element is summed in the order of k, the parts of a step in a fixed order: neither the block's shape nor
// its position changes a bit of it.
#pragma once

#include <type_traits>

#include "engine/amx-inl.h"
#include "engine/gemm-inl.h"
#include "engine/half-inl.h"
#include "engine/pack-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Operand, class Owner>
class AmxRows;  // amx_rows-inl.h

constexpr int kAmxUnitRows = 2 * kAmxRows;        // that a block of registers computes together
constexpr int kAmxTile = kAmxRows * kAmxColumns;  // elements of a register

// kPartCount: 1 for bf16; 2 for fp16, each of which is the sum of two bf16.
template <int kPartCount>
struct AmxOperand {
    static constexpr int kDepth = 2;
    static constexpr int kPairDistance = kAmxColumns;  // so that pairs of probabilities form without shuffles
    static constexpr int kColumns = kAmxColumns;
    static constexpr int kParts = kPartCount;
    static constexpr int kQueryParts = kPartCount;
    static constexpr bool kIsExact = kPartCount > 1;  // the sums are as those of fp32
    static constexpr bool kTakesCodes = false;
    static constexpr int kSteps = kAmxRows;
    static constexpr int kTile = kTileKeys;
    static constexpr int kKeys = kAmxDepth;
    static constexpr int kGroup = kAmxRows;
    // Packing takes a larger share of the time than on vectors, and processors with these registers have larger caches.
    static constexpr int kBlockRows = 1024;
    static constexpr int kScoreRows = 2 * kAmxUnitRows;
    static constexpr bool kIsInPlace = true;
    static constexpr bool kKeysOnLeft = false;
    template <class T>
    using Query = T;
    template <class T, class Owner>
    using Rows = AmxRows<T, AmxOperand, Owner>;
};

// Codes as bf16. Queries have further parts only where they are fp16 or hold scales of channels.
template <class QueryType>
struct AmxCodeOperand : AmxOperand<1> {
    static constexpr int kQueryParts = 3;
    static constexpr bool kIsExact = std::is_same_v<QueryType, F16>;
    static constexpr bool kTakesCodes = true;
    template <class T>
    using Query = QueryType;
    template <class T, class Owner>
    using Rows = AmxRows<T, AmxCodeOperand, Owner>;
};

struct AmxBf16Product {
    template <int kSum, int kLeft, int kRight>
    static void multiply() { amx_multiply<kSum, kLeft, kRight>(); }
};
struct AmxInt8Product {
    template <int kSum, int kLeft, int kRight>
    static void multiply() { amx_multiply_int8<kSum, kLeft, kRight>(); }
};
struct AmxUnsignedProduct {
    template <int kSum, int kLeft, int kRight>
    static void multiply() { amx_multiply_unsigned<kSum, kLeft, kRight>(); }
};

// Registers 0 .. 3 hold sums, [row tile][column tile]; 4 and 5 left factors, 6 and 7 right ones.
template <int kRows, int kColumns>
struct AmxBlock {
    static void zero() {
        amx_zero<0>();
        if constexpr (kColumns > 1) amx_zero<1>();
        if constexpr (kRows > 1) amx_zero<2>();
        if constexpr (kRows > 1 && kColumns > 1) amx_zero<3>();
    }
    // Rows lie one after another, column tiles side by side.
    static void load(const float* sums, ptrdiff_t stride) {
        const float* below = sums + kAmxRows * stride;
        amx_load<0>(sums, 4 * stride);
        if constexpr (kColumns > 1) amx_load<1>(sums + kAmxColumns, 4 * stride);
        if constexpr (kRows > 1) amx_load<2>(below, 4 * stride);
        if constexpr (kRows > 1 && kColumns > 1) amx_load<3>(below + kAmxColumns, 4 * stride);
    }
    static void store(float* sums, ptrdiff_t stride) {
        float* below = sums + kAmxRows * stride;
        amx_store<0>(sums, 4 * stride);
        if constexpr (kColumns > 1) amx_store<1>(sums + kAmxColumns, 4 * stride);
        if constexpr (kRows > 1) amx_store<2>(below, 4 * stride);
        if constexpr (kRows > 1 && kColumns > 1) amx_store<3>(below + kAmxColumns, 4 * stride);
    }
    static void load_left(const float* rows, ptrdiff_t stride) {
        amx_load<4>(rows, 4 * stride);
        if constexpr (kRows > 1) amx_load<5>(rows + kAmxRows * stride, 4 * stride);
    }
    static void load_right(const float* panel, ptrdiff_t panel_size) {
        amx_load_once<6>(panel, 4 * kAmxColumns);
        if constexpr (kColumns > 1) amx_load_once<7>(panel + panel_size, 4 * kAmxColumns);
    }
    template <class Product>
    static void multiply() {
        Product::template multiply<0, 4, 6>();
        if constexpr (kColumns > 1) Product::template multiply<1, 4, 7>();
        if constexpr (kRows > 1) Product::template multiply<2, 5, 6>();
        if constexpr (kRows > 1 && kColumns > 1) Product::template multiply<3, 5, 7>();
    }
    template <class Beside>
    static void multiply(Beside& beside) {
        multiply<AmxBf16Product>();
        beside.advance();
    }
};

// Calls of `advance` for each step of the depth.
template <class Operand>
constexpr int score_products(int query_parts) { return Operand::kParts * query_parts; }
template <class Operand>
constexpr int kValueProducts = Operand::kParts + 1;

// Left rows, panels: both of bf16 pairs in 32-bit elements. Further parts lie `part` elements behind those before.
struct AmxFactor {
    const float* at;
    ptrdiff_t stride;  // from row to row, or panel to panel
    ptrdiff_t part;
};

// Scores, not scaled yet. All products of parts: the result is what fp32 multiply-adds would make of fp16.
template <class Operand, int kRows, int kColumns, class Beside>
inline void amx_scores(const AmxFactor& query, int query_parts, const AmxFactor& keys, int steps, float* scores,
                       ptrdiff_t stride, Beside& beside) {
    using Block = AmxBlock<kRows, kColumns>;
    Block::zero();
    const float *left = query.at, *right = keys.at;
    for (int s = 0; s < steps; s += kAmxRows, left += kAmxColumns, right += kAmxRows * kAmxColumns) {
        Block::load_left(left, query.stride);
        Block::load_right(right, keys.stride);
        Block::multiply(beside);
        if constexpr (Operand::kParts > 1) {
            Block::load_right(right + keys.part, keys.stride);
            Block::multiply(beside);
        }
        for (int part = 1; Operand::kQueryParts > 1 && part < query_parts; part++) {
            Block::load_left(left + part * query.part, query.stride);
            Block::multiply(beside);
            if constexpr (Operand::kParts > 1) {
                Block::load_right(right, keys.stride);
                Block::multiply(beside);
            }
        }
    }
    Block::store(scores, stride);
}

// 16 rows of bf16.
struct AmxKeyRows {
    const uint16_t* at;
    ptrdiff_t stride;  // in bytes
};

// Scores of two times 16 keys with one or two groups of 16 rows, keys as the left factor; queries stand in columns of
// [group][steps][16]. To [group][key][16 rows], groups `group_size` elements apart.
template <int kGroups, class Beside>
inline void amx_scores_by_key(const AmxKeyRows& first, const AmxKeyRows& second, const float* queries, int steps,
                              float* scores, ptrdiff_t group_size, Beside& beside) {
    using Block = AmxBlock<2, kGroups>;
    const ptrdiff_t panel = static_cast<ptrdiff_t>(steps) * kAmxRows;
    Block::zero();
    for (int s = 0; s < steps; s += kAmxRows, queries += kAmxTile) {
        amx_load_once<4>(first.at + 2 * s, first.stride);
        amx_load_once<5>(second.at + 2 * s, second.stride);
        amx_load<6>(queries, 4 * kAmxColumns);
        if constexpr (kGroups > 1) amx_load<7>(queries + panel, 4 * kAmxColumns);
        Block::multiply(beside);
    }
    amx_store<0>(scores, 4 * kAmxColumns);
    amx_store<2>(scores + kAmxTile, 4 * kAmxColumns);
    if constexpr (kGroups > 1) {
        amx_store<1>(scores + group_size, 4 * kAmxColumns);
        amx_store<3>(scores + group_size + kAmxTile, 4 * kAmxColumns);
    }
}

// 16 even and 16 odd channels, in the order of memory, to where they may stand themselves.
inline void join_channels(const float* even, const float* odd, float* to) {
    constexpr int vectors = kAmxColumns / kLanes;
    vf low[vectors], high[vectors];
    for (int i = 0; i < vectors; i++) {
        const vf first = load<vf>(even + i * kLanes), second = load<vf>(odd + i * kLanes);
        low[i] = interleave_low(first, second);
        high[i] = interleave_high(first, second);
    }
    for (int i = 0; i < vectors; i++) {
        store(to + 2 * i * kLanes, low[i]);
        store(to + (2 * i + 1) * kLanes, high[i]);
    }
}

// Transposes a register's 32-bit elements from rows one after another to rows `stride` elements apart.
inline void turn_tile(const float* from, float* to, ptrdiff_t stride) {
    for (int c = 0; c < kAmxRows; c += kLanes) {
        const uint16_t* rows[kLanes];
        for (int j = 0; j < kLanes; j++) rows[j] = reinterpret_cast<const uint16_t*>(from + (c + j) * kAmxColumns);
        for (int d = 0; d < kAmxDepth; d += kPiece) {
            vf out[4];
            transpose_piece(rows, d, kAmxDepth, out);
            for (int i = 0; i < 4; i++) store(to + (d / 2 + i) * stride + c, out[i]);
        }
    }
}

// sums += probabilities * values over columns [begin, end) of the tile; `fresh`: the sums hold nothing yet.
// Probabilities rounded to bf16 cost almost as much accuracy as rounding the output: together 0.00224 of the output's
// RMS on normal data, where 0.0020 is promised. So their second parts are added too, for 1 % of the time (5 % at
// D = 64). With second parts of values they would not show in an fp16.
template <class Operand, int kRows, int kColumns, class Beside>
inline void amx_values(const AmxFactor& weights, const AmxFactor& values, int begin, int end, bool fresh, float* sums,
                       ptrdiff_t stride, Beside& beside) {
    using Block = AmxBlock<kRows, kColumns>;
    if (fresh) {
        Block::zero();
    } else {
        Block::load(sums, stride);
    }
    for (int k = begin; k < end; k += kAmxDepth) {
        const float *left = weights.at + k, *right = values.at + k / 2 * kAmxColumns;
        Block::load_left(left, weights.stride);
        if constexpr (Operand::kParts > 1) {
            Block::load_right(right + values.part, values.stride);
            Block::multiply(beside);
        }
        Block::load_right(right, values.stride);
        Block::multiply(beside);
        Block::load_left(left + weights.part, weights.stride);
        Block::multiply(beside);
    }
    Block::store(sums, stride);
}

}  // namespace
}  // namespace acl_attn::engine
