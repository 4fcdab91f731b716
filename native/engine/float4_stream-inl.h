// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode with FLOAT4_E2M1 codes whose groups of channels have scales of their own. Each 32-bit lane of a
// register holds eight neighbours, four lanes are a group: one look-up makes a vector of numbers from one code of every
// lane, and scales multiply what is already summed over a lane (of keys), or the probabilities (of values).
#pragma once

#include "engine/group_scales-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// A register of codes, as kVectors vectors of numbers: lane i's channels are kVectors * i and those after it.
struct Float4Piece {
    static constexpr int kVectors = 8;
    static constexpr int kElements = kVectors * kLanes;
    static constexpr int kBytes = kElements / 2;

    vu codes;

    static Float4Piece load(const uint8_t* p, int bytes) { return {load_bytes<vu>(p, bytes)}; }
    vf vector(int v) const { return numbers_of_e2m1(codes >> (4 * v)); }

    static constexpr int channel(int i) { return i % kLanes * kVectors + i / kLanes; }
    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return channel(i); });
    }
    static void to_memory_order(float* x) {
        restore_channels<kElements>(x, [](int i) { return channel(i); });
    }

    // Of the piece's groups, each in the lanes that have its channels; `scales`: the first one's code.
    static vf spread(const uint8_t* scales) {
#if defined(__AVX2__)
        int32_t all;
        __builtin_memcpy(&all, scales, sizeof all);
        // Into the uppermost byte of a lane, and from there to the exponent.
        const vu order = (reinterpret_cast<vu>(lane_index()) / 4 << 24) | 0x00808080u;
#if defined(__AVX512BW__)
        const __m512i upper = _mm512_shuffle_epi8(_mm512_set1_epi32(all), reinterpret_cast<__m512i>(order));
#else
        const __m256i upper = _mm256_shuffle_epi8(_mm256_set1_epi32(all), reinterpret_cast<__m256i>(order));
#endif
        return reinterpret_cast<vf>(reinterpret_cast<vu>(upper) >> 1);
#else
        static_assert(kLanes == 4, "one group");
        return reinterpret_cast<vf>(vu{} + (uint32_t{scales[0]} << 23));
#endif
    }
};

// Queries, and what a key's codes are multiplied as; sums are of four bytes each.
struct Float4Queries {
    static constexpr int kVectors = Float4Piece::kVectors;  // of a piece
    static bool enter(float* query, int padded_dim) {
        for (int d = 0; d < padded_dim; d += Float4Piece::kElements) Float4Piece::to_own_order(query + d);
        return true;
    }
    // sums[r] += products with the row at own + r * ldq.
    template <int kRows>
    static void add(const Float4Piece& piece, const float* own, ptrdiff_t ldq, vf* sums) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; v++) {
            const vf x = piece.vector(v);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) sums[r] = fma(load<vf>(own + r * ldq + v * kLanes), x, sums[r]);
        }
    }
};

#if defined(__AVX512BF16__)
// In pairs of bf16, which the numbers are exactly. kParts: 1 for queries of bf16, 2 for those of fp16, the sums of two.
// The instruction takes and makes no subnormals: rows with numbers far from 1 are computed by others.
template <int kParts>
struct Float4PairQueries {
    static constexpr int kVectors = 4;  // of 32 numbers; those of a 16-bit word follow each other in memory
    static bool enter(float* query, int padded_dim) {
        constexpr uint32_t most = (127 + 60) << 23, least = (127 - 90) << 23;
        vi is_outside = {};
        for (int piece = 0; piece < padded_dim; piece += Float4Piece::kElements) {
            uint16_t pairs[kVectors * kParts][2 * kLanes];
            for (int d = 0; d < Float4Piece::kElements; d += kLanes) {
                vu bits = load<vu>(query + piece + d);
                const vu magnitude = bits & 0x7fffffffu;
                is_outside |= reinterpret_cast<vi>(magnitude - 1 < least - 1) | reinterpret_cast<vi>(magnitude > most);
                for (int part = 0; part < kParts; part++) {
                    for (int i = 0; i < kLanes; i++) {
                        const int channel = d + i;
                        pairs[channel % kVectors * kParts + part][channel / kVectors] =
                            static_cast<uint16_t>(bits[i] >> 16);
                    }
                    bits = bits_of(reinterpret_cast<vf>(bits) - reinterpret_cast<vf>(bits & 0xffff0000u));
                }
            }
            __builtin_memcpy(query + piece, pairs, sizeof pairs);
        }
        return !any(is_outside);
    }
    template <int kRows>
    static void add(const Float4Piece& piece, const float* own, ptrdiff_t ldq, vf* sums) {
        const __m512i words = reinterpret_cast<__m512i>(piece.codes);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; v++) {
            // Five bits of a word are looked at, so that the table has all codes twice.
            const __m512i numbers = _mm512_permutexvar_epi16(_mm512_srli_epi16(words, 4 * v), load<__m512i>(kNumbers));
#pragma GCC unroll 2
            for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) {
                    const __m512i query = load<__m512i>(own + r * ldq + (v * kParts + part) * kLanes);
                    sums[r] = _mm512_dpbf16_ps(sums[r], reinterpret_cast<__m512bh>(query),
                                               reinterpret_cast<__m512bh>(numbers));
                }
            }
        }
    }

private:
    alignas(64) static constexpr uint16_t kNumbers[32] = {
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0,  //
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0};
};
#endif

// scores[r][k] = scale * query[r] . keys[k] for kRows rows and some keys, rounded up to as many as are taken at once.
template <class Queries, int kRows>
__attribute__((noinline)) void dot_float4(const float* query, ptrdiff_t ldq, int dim, const StreamRows& keys,
                                          const uint8_t* scales, float scale, float* scores, ptrdiff_t lds) {
    using Piece = Float4Piece;
    constexpr int kKeys = kLanes / kRows;
    const int bytes = dim / 2, groups = groups_of(dim);
    const vf factor = splat(scale);
    for (int first = 0; first < keys.count; first += kKeys, scores += kKeys) {
        const uint8_t *key[kKeys], *scale_codes[kKeys];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) {
            const int n = first + k < keys.count ? first + k : keys.count - 1;
            key[k] = keys.row<E2M1>(n);
            scale_codes[k] = scales + n * groups;
        }
        vf acc[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; i++) acc[i] = vf{};
        const float* own = query;
#pragma GCC unroll 1
        for (int at = 0, group = 0; at < bytes; at += Piece::kBytes) {
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; k++) {
                vf sums[kRows];
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) sums[r] = vf{};
                Queries::template add<kRows>(Piece::load(key[k] + at, bytes - at), own, ldq, sums);
                const vf scale_of_lane = Piece::spread(scale_codes[k] + group);
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) {
                    acc[r * kKeys + k] = fma(sums[r], scale_of_lane, acc[r * kKeys + k]);
                }
            }
            if (keys.ahead != nullptr) keys.ahead->advance(kKeys * Piece::kBytes);
            own += Piece::kElements;
            group += Piece::kElements / kScaleGroup;
        }
        float lanes[kLanes];
        store(lanes, sums_of(acc) * factor);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
            __builtin_memcpy(scores + r * lds, lanes + r * kKeys, sizeof(float) * kKeys);
        }
    }
}

class Float4Keys {
public:
    static constexpr int kElements = Float4Piece::kElements;

    Float4Keys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldq_(round_up(block.dim, kElements)) {}

    // As StreamKeys::enter.
    bool enter(int, int, float* query) const {
        return with_queries([&](auto queries) { return decltype(queries)::enter(query, ldq_); });
    }

    // As StreamKeys::score.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) const {
        with_queries([&](auto queries) {
            score<decltype(queries)>(rows, count, begin, scores, ahead);
            return true;
        });
    }

private:
    // Calls body with the queries' form.
    template <class Body>
    bool with_queries(Body body) const {
#if defined(__AVX512BF16__)
        const bool is_bf16 = b_.sink.query_dtype == Dtype::bf16;
        return is_bf16 ? body(Float4PairQueries<1>{}) : body(Float4PairQueries<2>{});
#else
        return body(Float4Queries{});
#endif
    }

    template <class Queries>
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) const {
        const int keys_at_once = rows_ % 4 == 0 ? kLanes / 2 : kLanes;
        for (int k = 0; k < count; k += keys_at_once) {
            const int some = count - k < keys_at_once ? count - k : keys_at_once;
            for (int h = 0; h < b_.kv_heads; h++) {
                StreamRows keys = {rows + k, h * b_.key.head_stride, some, &ahead};
                const uint8_t* scales = scale_codes(s_.key_scales, h, b_.dim) + (begin + k) * groups_of(b_.dim);
                for_row_blocks(rows_, [&](int r, auto block_rows) {
                    const ptrdiff_t i = h * rows_ + r;
                    dot_float4<Queries, decltype(block_rows)::value>(
                        s_.query + i * ldq_, ldq_, b_.dim, keys, scales, b_.scale,
                        scores + i * kStreamScoreStride + begin + k, kStreamScoreStride);
                    keys.ahead = nullptr;
                });
            }
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldq_;
};

// out[r] += sum over k of probabilities[r][k] * values[k] for kRows rows and kUsed of a piece's vectors, from number
// kFirst on. The piece has `bytes`, from values' offset on.
template <int kRows, int kUsed, int kFirst>
__attribute__((noinline)) void add_float4(const float* probabilities, ptrdiff_t ldp, const StreamRows& values,
                                          int bytes, const uint8_t* scales, int groups, float* out, ptrdiff_t ldo) {
    using Piece = Float4Piece;
    constexpr int kAtOnce = 8;  // keys that what comes next is asked for after
    vf acc[kRows][kUsed];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) acc[r][c] = load<vf>(out + r * ldo + (kFirst + c) * kLanes);
    }
    for (int k = 0; k < values.count;) {
        const int stop = values.count - k < kAtOnce ? values.count : k + kAtOnce;
        if (values.ahead != nullptr) values.ahead->advance((stop - k) * kUsed * Piece::kBytes / Piece::kVectors);
#pragma GCC unroll 1
        for (; k < stop; k++, scales += groups) {
            const Piece piece = Piece::load(values.row<E2M1>(k), bytes);
            const vf scale = Piece::spread(scales);
            vf x[kUsed];
#pragma GCC unroll 8
            for (int c = 0; c < kUsed; c++) x[c] = piece.vector(kFirst + c);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) {
                const vf p = splat(probabilities[r * ldp + k]) * scale;
#pragma GCC unroll 8
                for (int c = 0; c < kUsed; c++) acc[r][c] = fma(p, x[c], acc[r][c]);
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < kUsed; c++) store(out + r * ldo + (kFirst + c) * kLanes, acc[r][c]);
    }
}

class Float4Values {
public:
    static constexpr int kElements = Float4Piece::kElements;
    // Rows are short: a tile's of a head before the next head's leaves no page for long.
    static constexpr int kKeys = kStreamKeys;
    static constexpr int kUnordered = kStreamKeys;

    Float4Values(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldo_(round_up(block.dim_v, kElements)) {}

    static int ahead_of_softmax() { return 0; }  // as StreamValues'

    static void to_own_order(float* x) { Float4Piece::to_own_order(x); }
    static void to_memory_order(float* x) { Float4Piece::to_memory_order(x); }

    // As StreamValues::add.
    void add(int h, const void* const* rows, int64_t offset, int begin, int count, const float* scores, float* out,
             ReadAhead* ahead) const {
        const int bytes = b_.dim_v / 2, groups = groups_of(b_.dim_v);
        StreamRows values = {rows, offset, count, ahead};
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            constexpr int kRows = decltype(block_rows)::value;
            const uint8_t* scales = scale_codes(s_.value_scales, h, b_.dim_v) + begin * groups;
            float* to = out + r * ldo_;
            for (int at = 0; at < bytes; at += Float4Piece::kBytes, to += kElements) {
                values.offset = offset + at;
                add_parts<kRows>(scores + r * kStreamScoreStride + begin, values, bytes - at, scales, groups, to);
                scales += kElements / kScaleGroup;
            }
            values.ahead = nullptr;
        });
    }
    void finish() {}

private:
    template <int kRows, int kFirst = 0>
    void add_parts(const float* probabilities, const StreamRows& values, int bytes, const uint8_t* scales, int groups,
                   float* out) const {
        constexpr int kUsed = (kRows < 4 ? 2 : 1) * kVectors < Float4Piece::kVectors ? (kRows < 4 ? 2 : 1) * kVectors
                                                                                      : Float4Piece::kVectors;
        add_float4<kRows, kUsed, kFirst>(probabilities, kStreamScoreStride, values, bytes, scales, groups, out, ldo_);
        if constexpr (kFirst + kUsed < Float4Piece::kVectors) {
            add_parts<kRows, kFirst + kUsed>(probabilities, values, bytes, scales, groups, out);
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldo_;
};

template <>
struct DecodeProducts<E2M1> {
    using Keys = Float4Keys;
    using Values = Float4Values;
    struct Session {};
};

}  // namespace
}  // namespace acl_attn::engine
