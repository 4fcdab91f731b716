// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with stored integers, on the instruction that multiplies four unsigned bytes by four signed
// ones. The other factor is taken in digits of a byte, counted from the row's largest number, as tiles take it (see
// amx_parts-inl.h); products and their sums are exact. Codes to fp32 would need as many instructions for conversions as
// for multiply-adds, which do a quarter of the work.
#pragma once

#include "engine/amx_codes-inl.h"
#include "engine/exceptional-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kDigitRows = 4;   // whose queries lie side by side in a vector, for a key's bytes to meet all of them
constexpr int kDigits = 3;      // of queries and of probabilities: 23 and 24 bits
constexpr int kDigitKeys = 4;   // that are multiplied together

inline vi multiply_bytes(vi sums, vt unsigned_bytes, vt signed_bytes) {
    return reinterpret_cast<vi>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                    reinterpret_cast<__m512i>(unsigned_bytes),
                                                    reinterpret_cast<__m512i>(signed_bytes)));
}

// The same 16 bytes of v, number kQuarter, in all quarters.
template <int kQuarter>
inline vt spread_quarter(vt v) {
    const __m512i x = reinterpret_cast<__m512i>(v);
    return reinterpret_cast<vt>(_mm512_shuffle_i32x4(x, x, kQuarter * 0x55));
}

// Of each quarter of four vectors: lane i of a result's quarter is of v[i].
inline vf sums_of_quarters(const vf* v) {
    const vf even = zip_low(v[0], v[2]) + zip_high(v[0], v[2]), odd = zip_low(v[1], v[3]) + zip_high(v[1], v[3]);
    return zip_low(even, odd) + zip_high(even, odd);
}

// A sum from those of its digits, the highest first, in units of the lowest.
inline vf join_digits(const vi* sums) {
    static_assert(kDigits == 3, "the upper two fit an integer");
    const vi upper = (sums[0] << 8) + sums[1];
    return fma(__builtin_convertvector(upper, vf), splat(256.0f), __builtin_convertvector(sums[2], vf));
}

// kPiece channels of a row are 64 bytes. keys(): as kVectors vectors of unsigned bytes, kOffset more than the numbers;
// numbers(): as kVectors vectors of numbers times 2^kExponent. channel(v, i): where byte i of vector v lies in memory.
template <class T>
struct DigitCodes;

template <>
struct DigitCodes<I8> {
    static constexpr int kPiece = 64, kVectors = 1, kOffset = 128, kExponent = 0;
    static void keys(vt codes, vt* to) { to[0] = codes ^ uint8_t{0x80}; }
    static void numbers(vt codes, vt* to) { to[0] = codes; }
    static constexpr int channel(int, int i) { return i; }
};
template <>
struct DigitCodes<I4> {
    static constexpr int kPiece = 128, kVectors = 2, kOffset = 8, kExponent = 4;
    static void keys(vt codes, vt* to) {
        typedef uint16_t words __attribute__((vector_size(64)));
        const vt raised = codes ^ uint8_t{0x88};
        to[0] = raised & uint8_t{0x0f};
        to[1] = reinterpret_cast<vt>(reinterpret_cast<words>(raised) >> 4) & uint8_t{0x0f};
    }
    static void numbers(vt codes, vt* to) {
        to[0] = AmxCodes<I4>::even(codes);
        to[1] = AmxCodes<I4>::odd(codes);
    }
    static constexpr int channel(int v, int i) { return 2 * i + v; }
};

// Of up to kDigitRows rows.
struct DigitQueries {
    vt* digits;        // [piece][vector][quarter][digit], each [row][16 channels]
    vi* raised;        // [digit]: what the offset of keys adds, negated; [row][4]
    vf* weights;       // of a sum's unit; [row][4]
};

template <class T>
__attribute__((noinline)) void dot_digits(const DigitQueries& query, int rows, int dim, const StreamRows& keys, float scale,
                                          float* scores, ptrdiff_t lds) {
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
        const vf result = sums_of_quarters(joined) * weights * factor;
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
        : b_(block), rows_(rows), ldq_(round_up(block.dim, kElements)), queries_(static_cast<char*>(scratch.query_tiles)) {
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
        const vf factor = splat(Int8Parts::factor<kDigits>(exponent)), round = splat(12582912.0f);  // see exp-inl.h
        __m128i raised[kDigits] = {};
        char* digits = reinterpret_cast<char*>(to.digits) + 16 * row;
        for (int piece = 0; piece < ldq_; piece += kElements) {
            for (int i = 0; i < kElements; i += 16, digits += kDigits * 64) {
                float own[16];
                for (int c = 0; c < 16; c++) own[c] = query[piece + Codes::channel(i / 64, i % 64 + c)];
                const vf units = load<vf>(own) * factor;
                Int8Parts::split<kDigits>(units + round - round, [&](int d, vb numbers) {
                    store(digits + d * 64, numbers);
                    raised[d] = _mm_dpbusd_epi32(raised[d], _mm_set1_epi8(static_cast<char>(Codes::kOffset)),
                                                 reinterpret_cast<__m128i>(numbers));
                });
            }
        }
        for (int d = 0; d < kDigits; d++) {
            store(reinterpret_cast<char*>(to.raised + d) + 16 * row, _mm_sub_epi32(_mm_setzero_si128(), raised[d]));
        }
        const __m128 weight = _mm_set1_ps(Int8Parts::weight<kDigits>(exponent, kDigits - 1));
        store(reinterpret_cast<char*>(to.weights) + 16 * row, weight);
        return true;
    }

    // As StreamKeys::score.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        constexpr int at_once = 2 * kDigitKeys;
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

// A row's probabilities of a tile in unsigned digits, the highest first.
struct DigitWeights {
    alignas(64) uint8_t digits[kDigits][kStreamKeys];
    float unit;
};

// Bytes a, b, c, d of columns 16q + 4j + i, j from kFirst on, as zip_four has them.
template <int kCount>
inline void zip_some(int first, const vt* rows, vt* to) {
    if constexpr (kCount == 4) return zip_four(rows[0], rows[1], rows[2], rows[3], to);
    const bool is_high = first >= 2;
    const vt ab = is_high ? zip_rows<1, true>(rows[0], rows[1]) : zip_rows<1, false>(rows[0], rows[1]);
    const vt cd = is_high ? zip_rows<1, true>(rows[2], rows[3]) : zip_rows<1, false>(rows[2], rows[3]);
    if constexpr (kCount == 2) {
        to[0] = zip_rows<2, false>(ab, cd);
        to[1] = zip_rows<2, true>(ab, cd);
    } else {
        to[0] = first % 2 == 0 ? zip_rows<2, false>(ab, cd) : zip_rows<2, true>(ab, cd);
    }
}

// out[r][c] += sum over a tile's keys of weights[r] * values, for kCount of the four vectors of bytes that a piece of
// four keys' rows makes; `first` of them: 0, or the one after kCount.
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
        zip_some<kCount>(kFirst, rows, zipped);
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

    static void to_own_order(float* x) {
        float in_memory[kElements];
        __builtin_memcpy(in_memory, x, sizeof in_memory);
        for (int i = 0; i < kElements; i++) x[i] = in_memory[channel(i)];
    }
    static void to_memory_order(float* x) {
        float own[kElements];
        __builtin_memcpy(own, x, sizeof own);
        for (int i = 0; i < kElements; i++) x[channel(i)] = own[i];
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

template <class T>
struct DigitProducts {
    using Keys = DigitKeys<T>;
    using Values = DigitValues<T>;
    struct Session {};
};
template <>
struct DecodeProducts<I8> : DigitProducts<I8> {};
template <>
struct DecodeProducts<I4> : DigitProducts<I4> {};

}  // namespace
}  // namespace acl_attn::engine
