// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from FLOAT4_E2M1 codes: see float4_codes-inl.h.
#pragma once

#include "engine/float4_codes-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// Queries, and what a key's codes are multiplied as; sums are of four bytes each.
struct Float4Queries {
    static constexpr int kVectors = Float4Piece::kVectors;  // of a piece
    static bool enter(float* query, int padded_dim) {
        for (int d = 0; d < padded_dim; d += Float4Piece::kElements) Float4Piece::to_own_order(query + d);
        return true;
    }
    // sums[r * kKeys + k] = products of the row at own + r * ldq with the codes of a key.
    template <int kRows, int kKeys>
    static void multiply(const float* own, ptrdiff_t ldq, const Float4Piece* codes, vf* sums) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; v++) {
            vf row[kRows];
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) row[r] = load<vf>(own + r * ldq + v * kLanes);
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; k++) {
                const vf x = codes[k].vector(v);
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) {
                    vf& sum = sums[r * kKeys + k];
                    sum = v == 0 ? row[r] * x : fma(row[r], x, sum);
                }
            }
        }
    }
};

// Processors with AMX multiply pairs at a quarter of the rate of fp32 numbers.
#if defined(__AVX512BF16__) && !defined(__AMX_TILE__)
#define ACL_ATTN_FLOAT4_PAIRS
#endif

#if defined(ACL_ATTN_FLOAT4_PAIRS)
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
    template <int kRows, int kKeys>
    static void multiply(const float* own, ptrdiff_t ldq, const Float4Piece* codes, vf* sums) {
        for (int i = 0; i < kRows * kKeys; i++) sums[i] = vf{};
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; v++) {
            __m512bh row[kRows][kParts];
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 2
                for (int part = 0; part < kParts; part++) {
                    row[r][part] = load<__m512bh>(own + r * ldq + (v * kParts + part) * kLanes);
                }
            }
#pragma GCC unroll 16
            for (int k = 0; k < kKeys; k++) {
                const __m512i words = _mm512_srli_epi16(reinterpret_cast<__m512i>(codes[k].codes), 4 * v);
                const __m512i x = _mm512_permutexvar_epi16(words, load<__m512i>(kNumbers));
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) {
                    vf& sum = sums[r * kKeys + k];
#pragma GCC unroll 2
                    for (int part = 0; part < kParts; part++) {
                        sum = _mm512_dpbf16_ps(sum, row[r][part], reinterpret_cast<__m512bh>(x));
                    }
                }
            }
        }
    }

private:
    // As bf16, twice: a look-up by words looks at five bits.
    alignas(64) static constexpr uint16_t kNumbers[32] = {
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0,  //
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0};
};
#endif

// scores[r][k] = scale * query[r] . keys[k] for kRows rows and one piece of some keys, rounded up to as many as are taken
// at once; later pieces (kMore) are added. A piece has `bytes`, from keys' offset on; the key's scales begin at
// scales[k * groups]. Sums over several pieces would need as many registers again, for each piece has scales.
template <class Queries, int kRows, bool kMore>
__attribute__((noinline)) void dot_float4(const float* query, ptrdiff_t ldq, const StreamRows& keys, int bytes,
                                          const uint8_t* scales, int groups, float scale, float* scores,
                                          ptrdiff_t lds) {
    constexpr int kKeys = kLanes / kRows;
    const vf factor = splat(scale);
    for (int first = 0; first < keys.count; first += kKeys, scores += kKeys) {
        Float4Piece codes[kKeys];
        vf sums[kLanes];
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) {
            const int n = first + k < keys.count ? first + k : keys.count - 1;
            codes[k] = Float4Piece::load(keys.row<E2M1>(n), bytes);
        }
        Queries::template multiply<kRows, kKeys>(query, ldq, codes, sums);
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) {
            const int n = first + k < keys.count ? first + k : keys.count - 1;
            const vf scale_of_lane = Float4Piece::spread(scales + n * groups);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) sums[r * kKeys + k] *= scale_of_lane;
        }
        if (keys.ahead != nullptr) keys.ahead->advance(kKeys * Float4Piece::kBytes);
        float lanes[kLanes];
        store(lanes, sums_of(sums) * factor);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
            float *of_row = lanes + r * kKeys, *to = scores + r * lds;
#pragma GCC unroll 16
            for (int k = 0; k < kKeys && kMore; k++) of_row[k] += to[k];
            __builtin_memcpy(to, of_row, sizeof(float) * kKeys);
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

    // As StreamKeys::score, but a head's keys before the next one's: rows are short, no page is left for long.
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
#if defined(ACL_ATTN_FLOAT4_PAIRS)
        const bool is_bf16 = b_.sink.query_dtype == Dtype::bf16;
        return is_bf16 ? body(Float4PairQueries<1>{}) : body(Float4PairQueries<2>{});
#else
        return body(Float4Queries{});
#endif
    }

    template <class Queries>
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) const {
        const int bytes = b_.dim / 2, groups = groups_of(b_.dim);
        for (int h = 0; h < b_.kv_heads; h++) {
            StreamRows keys = {rows, h * b_.key.head_stride, count, &ahead};
            for_row_blocks(rows_, [&](int r, auto block_rows) {
                constexpr int kRows = decltype(block_rows)::value;
                const ptrdiff_t i = h * rows_ + r;
                const float* query = s_.query + i * ldq_;
                float* to = scores + i * kStreamScoreStride + begin;
                const uint8_t* scales = scale_codes(s_.key_scales, h, b_.dim) + begin * groups;
                StreamRows piece = keys;
                for (int at = 0; at < bytes; at += Float4Piece::kBytes) {
                    const auto dot = at == 0 ? dot_float4<Queries, kRows, false> : dot_float4<Queries, kRows, true>;
                    dot(query, ldq_, piece, bytes - at, scales, groups, b_.scale, to, kStreamScoreStride);
                    query += kElements;
                    scales += kElements / kScaleGroup;
                    piece.offset += Float4Piece::kBytes;
                }
                keys.ahead = nullptr;
            });
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldq_;
};

}  // namespace
}  // namespace acl_attn::engine
