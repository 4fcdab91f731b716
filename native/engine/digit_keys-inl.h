// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from stored integers in digits: see digit_codes-inl.h.
#pragma once

#include "engine/digit_codes-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kDigitRows = 4;  // whose queries lie side by side in a vector, for a key's bytes to meet all of them
constexpr int kDigitKeys = 4;  // that are multiplied together

// The same 16 bytes of v, number kQuarter, in all quarters.
template <int kQuarter>
inline vt spread_quarter(vt v) {
    const __m512i x = reinterpret_cast<__m512i>(v);
    return reinterpret_cast<vt>(_mm512_shuffle_i32x4(x, x, kQuarter * 0x55));
}

// Of up to kDigitRows rows.
struct DigitQueries {
    vt* digits;   // [piece][vector][quarter][digit], each [row][16 channels]
    vi* raised;   // [digit], each [row][4]: what the offset of keys adds, negated
    vf* weights;  // [row][4]: of a sum's unit
};

// scores[r][k] = scale * query[r] . keys[k] for up to kDigitRows rows.
template <class T>
__attribute__((noinline)) void dot_digits(const DigitQueries& query, int rows, int dim, const StreamRows& keys,
                                          float scale, float* scores, ptrdiff_t lds) {
    using Codes = DigitCodes<T>;
    const int bytes = dim * T::kBits / 8;
    const vf weights = *query.weights, factor = splat(scale);
    ReadAhead* const ahead = keys.ahead;
    for (int first = 0; first < keys.count; first += kDigitKeys, scores += kDigitKeys) {
        const int count = keys.count - first;
        const uint8_t* key[kDigitKeys];
#pragma GCC unroll 4
        for (int k = 0; k < kDigitKeys; k++) key[k] = keys.row<T>(first + (k < count ? k : count - 1));
        vi sums[kDigitKeys][kDigits];
#pragma GCC unroll 4
        for (int k = 0; k < kDigitKeys; k++) {
#pragma GCC unroll 3
            for (int d = 0; d < kDigits; d++) sums[k][d] = query.raised[d];
        }
        const vt* own = query.digits;
        const auto step = [&](auto load_codes) __attribute__((always_inline)) {
            vt codes[kDigitKeys][Codes::kVectors];
#pragma GCC unroll 4
            for (int k = 0; k < kDigitKeys; k++) Codes::keys(load_codes(key[k]), codes[k]);
            const auto multiply_quarter = [&](int v, auto quarter) __attribute__((always_inline)) {
#pragma GCC unroll 4
                for (int k = 0; k < kDigitKeys; k++) {
                    const vt spread = spread_quarter<decltype(quarter)::value>(codes[k][v]);
#pragma GCC unroll 3
                    for (int d = 0; d < kDigits; d++) sums[k][d] = multiply_bytes(sums[k][d], spread, own[d]);
                }
                own += kDigits;
            };
#pragma GCC unroll 2
            for (int v = 0; v < Codes::kVectors; v++) {
                multiply_quarter(v, Constant<0>{});
                multiply_quarter(v, Constant<1>{});
                multiply_quarter(v, Constant<2>{});
                multiply_quarter(v, Constant<3>{});
            }
        };
        int at = 0;
#pragma GCC unroll 1
        for (; at + 64 <= bytes; at += 64) {
            step([&](const uint8_t* p) { return load<vt>(p + at); });
            if (ahead != nullptr) ahead->advance(kDigitKeys * 64);
        }
        if (at < bytes) step([&](const uint8_t* p) { return load_row_part(p + at, bytes - at); });
        vf joined[kDigitKeys];
#pragma GCC unroll 4
        for (int k = 0; k < kDigitKeys; k++) joined[k] = join_digits(sums[k]);
        const vf result = fold_quarters(joined, [](vf a, vf b) { return a + b; }) * weights * factor;
        for (int r = 0; r < rows; r++) {
            float of_row[kDigitKeys];
            __builtin_memcpy(of_row, reinterpret_cast<const float*>(&result) + r * kDigitKeys, sizeof of_row);
            if (count >= kDigitKeys) {
                __builtin_memcpy(scores + r * lds, of_row, sizeof of_row);
            } else {
                for (int k = 0; k < count; k++) scores[r * lds + k] = of_row[k];
            }
        }
    }
}

template <class T>
class DigitKeys {
    using Codes = DigitCodes<T>;

public:
    static constexpr int kElements = Codes::kPiece;

    DigitKeys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), rows_(rows), ldq_(round_up(block.dim, kElements)),
          queries_(static_cast<char*>(scratch.query_tiles)) {
        const int blocks = block.kv_heads * blocks_of(rows);
        __builtin_memset(queries_, 0, static_cast<size_t>(blocks * panel_bytes()));
    }

    // As StreamKeys::enter.
    bool enter(int h, int r, const float* query) {
        const DigitQueries to = queries(h, r / kDigitRows);
        const int row = r % kDigitRows;
        Magnitude magnitude;
        for (int d = 0; d < ldq_; d += kLanes) magnitude.add(load<vf>(query + d));
        const int exponent = magnitude.exponent();
        const vf factor = splat(digit_factor<kDigits>(exponent));
        __m128i raised[kDigits] = {};
        char* digits = reinterpret_cast<char*>(to.digits) + 16 * row;
        for (int piece = 0; piece < ldq_; piece += kElements) {
            for (int i = 0; i < kElements; i += 16, digits += kDigits * 64) {
                float own[16];
                for (int c = 0; c < 16; c++) own[c] = query[piece + Codes::channel(i / 64, i % 64 + c)];
                const vf units = load<vf>(own) * factor;
                split_digits<kDigits>(nearest_integer(units), [&](int d, vb numbers) {
                    store(digits + d * 64, numbers);
                    raised[d] = _mm_dpbusd_epi32(raised[d], _mm_set1_epi8(static_cast<char>(Codes::kOffset)),
                                                 reinterpret_cast<__m128i>(numbers));
                });
            }
        }
        for (int d = 0; d < kDigits; d++) {
            store(reinterpret_cast<char*>(to.raised + d) + 16 * row, _mm_sub_epi32(_mm_setzero_si128(), raised[d]));
        }
        const __m128 weight = _mm_set1_ps(digit_weight<kDigits>(exponent, kDigits - 1));
        store(reinterpret_cast<char*>(to.weights) + 16 * row, weight);
        return true;
    }

    // As StreamKeys::score.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        const int at_once = has_heads_apart(b_) ? count : 2 * kDigitKeys;
        for (int k = 0; k < count; k += at_once) {
            const int some = count - k < at_once ? count - k : at_once;
            for (int h = 0; h < b_.kv_heads; h++) {
                StreamRows keys = {rows + k, h * b_.key.head_stride, some, &ahead};
                for (int r = 0; r < rows_; r += kDigitRows) {
                    dot_digits<T>(queries(h, r / kDigitRows), smaller(rows_ - r, kDigitRows), b_.dim, keys, b_.scale,
                                  scores + (h * rows_ + r) * kStreamScoreStride + begin + k, kStreamScoreStride);
                    keys.ahead = nullptr;
                }
            }
        }
    }

private:
    static int blocks_of(int rows) { return (rows + kDigitRows - 1) / kDigitRows; }
    int64_t digit_vectors() const { return ldq_ / 16 * kDigits; }
    int64_t panel_bytes() const { return (digit_vectors() + kDigits + 1) * 64; }
    DigitQueries queries(int h, int block) const {
        char* panel = queries_ + (h * blocks_of(rows_) + block) * panel_bytes();
        char* raised = panel + digit_vectors() * 64;
        return {reinterpret_cast<vt*>(panel), reinterpret_cast<vi*>(raised),
                reinterpret_cast<vf*>(raised + kDigits * 64)};
    }

    const RowBlock& b_;
    const int rows_, ldq_;
    char* const queries_;  // [head][block of rows] panels
};

}  // namespace
}  // namespace acl_attn::engine
