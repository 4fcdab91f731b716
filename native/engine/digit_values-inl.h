// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums of values of decode from stored integers in digits: see digit_codes-inl.h.
#pragma once

#include "engine/digit_codes-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// A row's probabilities of a tile in unsigned digits, the highest first.
struct DigitWeights {
    alignas(64) uint8_t digits[kDigits][kStreamKeys];
    float unit;
};

// kCount of the four vectors that zip_four makes, from number kFirst on.
template <int kCount, int kFirst>
inline void zip_some(const vt* rows, vt* to) {
    if constexpr (kCount == 4) return zip_four(rows[0], rows[1], rows[2], rows[3], to);
    const vt ab = zip_rows<1, kFirst >= 2>(rows[0], rows[1]), cd = zip_rows<1, kFirst >= 2>(rows[2], rows[3]);
    to[0] = zip_rows<2, kFirst % 2 == 1>(ab, cd);
    if constexpr (kCount == 2) to[1] = zip_rows<2, true>(ab, cd);
}

// out[r][c] += sum over keys [begin, end) of a tile of weights[r] * values, four keys at once; for kCount of the four
// vectors of bytes that a piece of their rows makes, from number kFirst on. A piece has `bytes`, from `at` on.
template <class T, int kRows, int kCount, int kFirst>
__attribute__((noinline)) void add_digits(const DigitWeights* weights, int begin, int end, const StreamRows& values,
                                          int at, int bytes, float* out, ptrdiff_t ldo) {
    using Codes = DigitCodes<T>;
    constexpr int kUsed = kCount * Codes::kVectors;
    ReadAhead* const ahead = values.ahead;
    vi sums[kRows][kUsed][kDigits];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) {
#pragma GCC unroll 3
            for (int d = 0; d < kDigits; d++) sums[r][c][d] = vi{};
        }
    }
#pragma GCC unroll 1
    for (int k = begin; k < end; k += 4) {
        vt rows[4], zipped[kCount], numbers[kUsed];
        const void* const* row = values.rows + (k - begin);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint8_t* p = static_cast<const uint8_t*>(row[i]) + values.offset + at;
            rows[i] = bytes == 64 ? load<vt>(p) : load_row_part(p, bytes);
        }
        if (ahead != nullptr) ahead->advance(4 * 16 * kCount);
        zip_some<kCount, kFirst>(rows, zipped);
#pragma GCC unroll 4
        for (int c = 0; c < kCount; c++) Codes::numbers(zipped[c], numbers + c * Codes::kVectors);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 3
            for (int d = 0; d < kDigits; d++) {
                int32_t four;
                __builtin_memcpy(&four, weights[r].digits[d] + k, sizeof four);
                const vt spread = reinterpret_cast<vt>(splat_int(four));
#pragma GCC unroll 8
                for (int c = 0; c < kUsed; c++) sums[r][c][d] = multiply_bytes(sums[r][c][d], spread, numbers[c]);
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
        const vf unit = splat(weights[r].unit);
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) {
            float* to = out + r * ldo + c * kLanes;
            store(to, fma(join_digits(sums[r][c]), unit, load<vf>(to)));
        }
    }
}

template <class T>
class DigitValues {
    using Codes = DigitCodes<T>;

public:
    static constexpr int kElements = Codes::kPiece;
    static constexpr int kKeys = kStreamKeys;  // digits are counted from the largest number of the tile
    static constexpr int kUnordered = kStreamKeys;

    DigitValues(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldo_(round_up(block.dim_v, kElements)) {}

    static int ahead_of_softmax() { return 0; }  // as StreamValues'

    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return channel(i); });
    }
    static void to_memory_order(float* x) {
        restore_channels<kElements>(x, [](int i) { return channel(i); });
    }

    // As StreamValues::add.
    void add(int h, const void* const* rows, int64_t offset, int begin, int count, const float* scores, float* out,
             ReadAhead* ahead) {
        for (int r = 0; r < rows_; r++) split(h, r, scores + r * kStreamScoreStride, begin, count);
        const int first = round_down(begin, 4), end = round_up(begin + count, 4);
        const void* whole[kStreamKeys];
        if (first != begin || end != begin + count) {
            for (int k = first; k < end; k++) {
                const bool is_key = k >= begin && k < begin + count;
                whole[k - first] = is_key ? rows[k - begin] : reinterpret_cast<const char*>(s_.zeros) - offset;
            }
            rows = whole;
        }
        const int bytes = b_.dim_v * T::kBits / 8;
        StreamRows values = {rows, offset, 0, ahead};
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            constexpr int kRows = decltype(block_rows)::value;
            constexpr int kCount = (kRows < 4 ? 2 : 1) * 2 / Codes::kVectors;
            float* to = out + r * ldo_;
            for (int at = 0; at < bytes; at += 64, to += kElements) {
                const int some = bytes - at < 64 ? bytes - at : 64;
                add_parts<kRows, kCount>(weights_ + r, first, end, values, at, some, to);
            }
            values.ahead = nullptr;
        });
    }
    void finish() {}

private:
    // Number i of a piece: vectors of bytes one after another, each as its kVectors vectors of numbers.
    static constexpr int channel(int i) {
        const int v = i / kLanes % Codes::kVectors, zipped = i / kLanes / Codes::kVectors * kLanes + i % kLanes;
        return Codes::channel(v, zipped_column(zipped));
    }

    template <int kRows, int kCount, int kFirst = 0>
    void add_parts(const DigitWeights* weights, int first, int end, const StreamRows& values, int at, int bytes,
                   float* out) const {
        add_digits<T, kRows, kCount, kFirst>(weights, first, end, values, at, bytes, out, ldo_);
        constexpr int next = kFirst + kCount;
        if constexpr (next < 4) {
            add_parts<kRows, kCount, next>(weights, first, end, values, at, bytes,
                                           out + kCount * Codes::kVectors * kLanes);
        }
    }

    void split(int h, int r, const float* scores, int begin, int count) {
        Magnitude magnitude;
        vf seen[kStreamKeys / kLanes];
        vi sign = {};
        for (int c = 0; c < kStreamKeys; c += kLanes) {
            const vi column = lane_index() + c;
            const vf x = select((column >= begin) & (column < begin + count), load<vf>(scores + c), vf{});
            magnitude.add(x);
            sign |= as_int(x);
            seen[c / kLanes] = x;
        }
        // Such a row is computed again, see Decode::is_suspect: also one with negative scales, which digits have no
        // sign for.
        if (!magnitude.is_finite() || any(sign < 0)) s_.row_headroom[h * rows_ + r] = kHugeHeadroom;
        const int exponent = magnitude.exponent();
        DigitWeights& to = weights_[r];
        to.unit = power_of_two(exponent + 1 - 8 * kDigits - Codes::kExponent);
        const vf factor = splat(power_of_two(8 * kDigits - 1 - exponent));
        for (int c = 0; c < kStreamKeys; c += kLanes) {
            const vu units = reinterpret_cast<vu>(__builtin_convertvector(seen[c / kLanes] * factor, vi));
            for (int d = 0; d < kDigits; d++) {
                store(to.digits[d] + c, reinterpret_cast<vb>(_mm512_cvtepi32_epi8(
                                            reinterpret_cast<__m512i>(units >> (8 * (kDigits - 1 - d))))));
            }
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldo_;
    DigitWeights weights_[kStreamRows];
};

}  // namespace
}  // namespace acl_attn::engine
