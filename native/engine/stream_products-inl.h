// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode as its loop calls them: a tile's scores of all heads, and one head's sums of values. Kinds of
// products differ in the order that queries and sums have; see stream-inl.h for these.
#pragma once

#include "engine/rows-inl.h"
#include "engine/stream-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Piece = Stretch<T>>
class StreamKeys {
public:
    static constexpr int kElements = Piece::kElements;  // queries are padded to a multiple

    StreamKeys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldq_(round_up(block.dim, kElements)) {}

    // Row r of head h, whose numbers are in the order of memory. False: the products cannot take it, others must.
    bool enter(int, int, float* query) {
        for (int d = 0; d < ldq_; d += kElements) Piece::to_own_order(query + d);
        return true;
    }

    // The scores of all rows with `count` keys, into columns `begin` and after. Memory is read in its order, or almost:
    // where a token's heads lie side by side, few keys of all heads at a time.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        score_with<Piece>([&](int) { return b_.scale; }, rows, count, begin, scores, ahead);
    }

protected:
    // With queries that have the order of AnyPiece; scale(h) is what scores of head h are multiplied by.
    template <class AnyPiece, class Scale>
    void score_with(Scale scale, const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        const int keys_at_once = has_heads_apart(b_) ? count : rows_ % 4 == 0 ? kLanes / 2 : kLanes;
        for (int k0 = 0; k0 < count; k0 += keys_at_once) {
            const int stop = count < k0 + keys_at_once ? count : k0 + keys_at_once;
            for (int h = 0; h < b_.kv_heads; h++) {
                StreamRows keys = {rows + k0, h * b_.key.head_stride, stop - k0, &ahead};
                for_row_blocks(rows_, [&](int r, auto block_rows) {
                    constexpr int kRows = decltype(block_rows)::value;
                    const ptrdiff_t i = h * rows_ + r;
                    dot_all_keys<T, kRows, AnyPiece>(s_.query + i * ldq_, ldq_, b_.dim, keys, scale(h),
                                                     scores + i * kStreamScoreStride + begin + k0, kStreamScoreStride);
                    keys.ahead = nullptr;
                });
            }
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldq_;
};

template <class T>
class StreamValues {
public:
    static constexpr int kElements = Stretch<T>::kElements;  // sums are padded to a multiple
    // Keys whose values are added to a head's sums before the next head's: few, for memory to be read almost in its
    // order.
    static constexpr int kKeys = 16;
    static constexpr int kUnordered = 2;  // keys of which some head's may be read before others' of the keys before

    StreamValues(const RowBlock& block, const Scratch&, int rows)
        : b_(block), rows_(rows), ldo_(round_up(block.dim_v, kElements)) {}

    // Bytes that are asked for beside the softmax of a head's rows, for each key.
    static int ahead_of_softmax() { return 0; }

    static void to_own_order(float* x) { Stretch<T>::to_own_order(x); }
    static void to_memory_order(float* x) { Stretch<T>::to_memory_order(x); }

    // Adds those of keys [begin, begin + count) of a tile to the rows of head h: rows[k] + offset is where key
    // begin + k has them. `scores` is [row][kStreamScoreStride], `out` [row][padded dim_v].
    void add(int, const void* const* rows, int64_t offset, int begin, int count, const float* scores, float* out,
             ReadAhead* ahead) {
        StreamRows values = {rows, offset, count, ahead};
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            add_all_columns<T, decltype(block_rows)::value>(scores + r * kStreamScoreStride + begin, kStreamScoreStride,
                                                            values, b_.dim_v, out + r * ldo_, ldo_);
            values.ahead = nullptr;
        });
    }

    // Until then sums need not be complete.
    void finish() {}

private:
    const RowBlock& b_;
    const int rows_, ldo_;
};

// Products in fp32, and what lasts while they run.
template <class T>
struct StreamProducts {
    using Keys = StreamKeys<T>;
    using Values = StreamValues<T>;
    struct Session {};
};

// Those that an instruction set has for keys and values of a type.
template <class T>
struct DecodeProducts : StreamProducts<T> {};

}  // namespace
}  // namespace acl_attn::engine
