// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode: keys and values go through registers once, as dot products and scaled sums for all rows of
// the block, without packing, in fp32. Stored codes are taken as they are: to write them down as fp32 first took almost
// as long as the products. What is faster than fp32 on some instruction sets is in the other files of this name.
#pragma once

#include "engine/gemm-inl.h"
#include "engine/read_ahead-inl.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

// Puts the kElements numbers at x, which are in the order of memory, into one in which channel(i) is at i; and back.
template <int kElements, class Channel>
inline void order_channels(float* x, Channel channel) {
    float in_memory[kElements];
    __builtin_memcpy(in_memory, x, sizeof in_memory);
    for (int i = 0; i < kElements; i++) x[i] = in_memory[channel(i)];
}
template <int kElements, class Channel>
inline void restore_channels(float* x, Channel channel) {
    float own[kElements];
    __builtin_memcpy(own, x, sizeof own);
    for (int i = 0; i < kElements; i++) x[channel(i)] = own[i];
}

// What products take from a row at a time: kVectors vectors of numbers, whose lanes need not have the order of memory
// where another one is cheaper. What meets them, queries and sums, is in the order of the stretch too.
template <class T>
struct Stretch {
    static constexpr int kVectors = 1;
    static constexpr int kElements = kLanes;
    static constexpr int kBytes = kElements * Row<T>::kBits / 8;
    using Element = typename Row<T>::Element;

    vf numbers;

    static Stretch load(const Element* p) { return {load_wide<T>(p)}; }
    static Stretch load_part(const Element* p, int n) { return {load_wide_part<T>(p, n)}; }
    vf vector(int) const { return numbers; }
    static vf madd(vf acc, vf own, vf x) { return fma(own, x, acc); }

    static void to_own_order(float*) {}
    static void to_memory_order(float*) {}
};

// Even elements, then odd ones: a shift or a mask makes them from pairs, where the order of memory needs a shuffle too.
template <>
struct Stretch<BF16> {
    static constexpr int kVectors = 2;
    static constexpr int kElements = 2 * kLanes;
    static constexpr int kBytes = 2 * kElements;
    using Element = uint16_t;

    vf pairs;

    static Stretch load(const Element* p) { return {engine::load<vf>(p)}; }
    static Stretch load_part(const Element* p, int n) {
#if defined(__AVX512BW__)
        if (n >= kElements) return load(p);
        return {reinterpret_cast<vf>(_mm512_maskz_loadu_epi16((__mmask32{1} << n) - 1, p))};
#else
        vf pairs = {};
        __builtin_memcpy(&pairs, p, sizeof(Element) * static_cast<size_t>(n < kElements ? n : kElements));
        return {pairs};
#endif
    }
    vf vector(int i) const { return i == 0 ? widen_low(BF16{}, pairs) : widen_high(BF16{}, pairs); }
    static vf madd(vf acc, vf own, vf x) { return fma(own, x, acc); }

    // The kElements numbers at x.
    static void to_own_order(float* x) {
        float in_memory[kElements];
        __builtin_memcpy(in_memory, x, sizeof in_memory);
        for (int i = 0; i < kLanes; i++) x[i] = in_memory[2 * i];
        for (int i = 0; i < kLanes; i++) x[kLanes + i] = in_memory[2 * i + 1];
    }
    static void to_memory_order(float* x) {
        float own[kElements];
        __builtin_memcpy(own, x, sizeof own);
        for (int i = 0; i < kElements; i++) x[i] = own[i % 2 * kLanes + i / 2];
    }
};

// Rows of a product's second operand: row k is at rows[k] + offset. `ahead` advances while they are read.
struct StreamRows {
    const void* const* rows;
    int64_t offset;
    int count;
    ReadAhead* ahead;  // may be null

    template <class T>
    const typename Row<T>::Element* row(int k) const {
        return reinterpret_cast<const typename Row<T>::Element*>(static_cast<const char*>(rows[k]) + offset);
    }
};

// scores[r][k] = scale * query[r] . keys[k] for kRows rows. Queries have the order of `Piece`, as which keys are taken.
template <class T, int kRows, class Piece = Stretch<T>>
__attribute__((noinline)) void dot_all_keys(const float* query, ptrdiff_t ldq, int dim, const StreamRows& keys,
                                            float scale, float* scores, ptrdiff_t lds) {
    constexpr int kKeys = kLanes / kRows;  // at once: as many sums as a vector has lanes
    using Element = typename Row<T>::Element;
    const vf factor = splat(scale);
    ReadAhead* const ahead = keys.ahead;
    for (int first = 0; first < keys.count; first += kKeys, scores += kKeys) {
        const int count = keys.count - first;
        const Element* key[kKeys];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) key[k] = keys.row<T>(first + (k < count ? k : count - 1));
        vf acc[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; i++) acc[i] = vf{};
        const float* own = query;
        const auto step = [&](int d, auto load_key) __attribute__((always_inline)) {
            vf row[kRows][Piece::kVectors];
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 4
                for (int v = 0; v < Piece::kVectors; v++) row[r][v] = load<vf>(own + r * ldq + v * kLanes);
            }
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; k++) {
                const Piece piece = load_key(Row<T>::at(key[k], d));
#pragma GCC unroll 4
                for (int v = 0; v < Piece::kVectors; v++) {
                    const vf x = piece.vector(v);
#pragma GCC unroll 4
                    for (int r = 0; r < kRows; r++) acc[r * kKeys + k] = Piece::madd(acc[r * kKeys + k], row[r][v], x);
                }
            }
        };
        int d = 0;
#pragma GCC unroll 1
        for (; d + Piece::kElements <= dim; d += Piece::kElements, own += Piece::kVectors * kLanes) {
            step(d, [](const Element* p) { return Piece::load(p); });
            if (ahead != nullptr) ahead->advance(kKeys * Piece::kBytes);
        }
        if (d < dim) step(d, [&](const Element* p) { return Piece::load_part(p, dim - d); });
        const vf result = sums_of(acc) * factor;
        if (count >= kKeys) {
            float lanes[kLanes];
            store(lanes, result);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) {
                __builtin_memcpy(scores + r * lds, lanes + r * kKeys, sizeof(float) * kKeys);
            }
            continue;
        }
        for (int r = 0; r < kRows; r++) {
            for (int k = 0; k < count; k++) scores[r * lds + k] = result[r * kKeys + k];
        }
    }
}

// The same for as many keys from `first` on as are taken at once.
template <class T, int kRows>
inline void dot_keys(const float* query, ptrdiff_t ldq, int dim, const StreamRows& keys, int first, float scale,
                     float* scores, ptrdiff_t lds) {
    const int left = keys.count - first;
    const StreamRows some = {keys.rows + first, keys.offset, left < kLanes / kRows ? left : kLanes / kRows, keys.ahead};
    dot_all_keys<T, kRows>(query, ldq, dim, some, scale, scores, lds);
}

// out[r][c] += sum over k of probabilities[r][k] * values[k][c] for kRows rows and kUsed vectors of columns, from
// `column` on; the last stretch may have fewer elements (`tail`, 0: all) in memory.
template <class T, int kRows, int kUsed>
__attribute__((noinline)) void add_scaled_values(const float* probabilities, ptrdiff_t ldp, const StreamRows& values,
                                                 int column, int tail, float* out, ptrdiff_t ldo) {
    using Piece = Stretch<T>;
    using Element = typename Row<T>::Element;
    constexpr int kPieces = kUsed / Piece::kVectors;
    vf acc[kRows][kUsed];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) acc[r][c] = load<vf>(out + r * ldo + c * kLanes);
    }
    const auto add = [&](int k) __attribute__((always_inline)) {
        const Element* value = Row<T>::at(values.row<T>(k), column);
        vf x[kUsed];
#pragma GCC unroll 8
        for (int c = 0; c < kPieces; c++) {
            const Element* p = Row<T>::at(value, c * Piece::kElements);
            const Piece piece = c + 1 == kPieces && tail != 0 ? Piece::load_part(p, tail) : Piece::load(p);
#pragma GCC unroll 4
            for (int v = 0; v < Piece::kVectors; v++) x[c * Piece::kVectors + v] = piece.vector(v);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
            const vf p = splat(probabilities[r * ldp + k]);
#pragma GCC unroll 8
            for (int c = 0; c < kUsed; c++) acc[r][c] = fma(p, x[c], acc[r][c]);
        }
    };
    // Two at once, for they are more often a whole step of what comes next.
    ReadAhead* const ahead = values.ahead;
    int k = 0;
#pragma GCC unroll 1
    for (; k + 2 <= values.count; k += 2) {
        if (ahead != nullptr) ahead->advance(2 * kPieces * Piece::kBytes);
        add(k);
        add(k + 1);
    }
    if (k < values.count) {
        if (ahead != nullptr) ahead->advance(kPieces * Piece::kBytes);
        add(k);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) store(out + r * ldo + c * kLanes, acc[r][c]);
    }
}

// The same for all columns, in blocks of as many vectors as leave registers for the values: fewer rows, more vectors.
template <class T, int kRows, int kUsed = (kRows < 4 ? 2 : 1) * kVectors>
inline void add_all_columns(const float* probabilities, ptrdiff_t ldp, const StreamRows& values, int dim, float* out,
                            ptrdiff_t ldo, int column = 0) {
    constexpr int columns = kUsed * kLanes, least = Stretch<T>::kElements;
    for (; dim - column >= columns || (kUsed == Stretch<T>::kVectors && column < dim); column += columns) {
        const int tail = dim - column < least ? dim - column : 0;
        add_scaled_values<T, kRows, kUsed>(probabilities, ldp, values, column, tail, out + column, ldo);
    }
    if constexpr (kUsed > Stretch<T>::kVectors) {
        if (column < dim) add_all_columns<T, kRows, kUsed / 2>(probabilities, ldp, values, dim, out, ldo, column);
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

}  // namespace
}  // namespace acl_attn::engine
