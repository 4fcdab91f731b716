// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from FLOAT4_E2M1 codes. Lanes are keys: to transpose codes, eight channels as one number, takes
// less than to add up the lanes of sums, and neither queries nor scales need an order of their own.
#pragma once

#include "engine/group_scales-inl.h"
#include "engine/pack-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kFloat4Sets = 2;  // vectors of keys that a query's number is loaded for
static_assert(kStreamKeys % (kFloat4Sets * kLanes) == 0, "rounded up, a tile's keys are a tile's");

// The codes of a group of channels of kLanes keys, from byte `at` on of rows that have `bytes`: of[i] has channels
// 8i .. 8i + 7.
inline void transpose_group(const void* const* rows, int64_t offset, int at, int bytes, vf of[4]) {
    constexpr int kBytes = kScaleGroup / 2;
    const auto row = [&](int k) { return static_cast<const char*>(rows[k]) + offset + at; };
    vf quarters[4];
    if (at + kBytes <= bytes) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) quarters[i] = gather_quarters([&](int q) { return row(4 * q + i); });
    } else {
        char padded[kLanes][kBytes] = {};
        for (int k = 0; k < kLanes; k++) __builtin_memcpy(padded[k], row(k), static_cast<size_t>(bytes - at));
        for (int i = 0; i < 4; i++) quarters[i] = gather_quarters([&](int q) { return padded[4 * q + i]; });
    }
    transpose_quarters(quarters, of);
}

// Of kLanes keys, four groups' scale codes from a first one's on, each in a byte.
inline vu load_scales(const uint8_t* scales, int groups) {
    if (groups == 4) return load<vu>(scales);
    uint32_t words[kLanes];
    for (int k = 0; k < kLanes; k++, scales += groups) __builtin_memcpy(words + k, scales, sizeof *words);
    return load<vu>(words);
}

// Queries as they are, and products in fp32.
struct Float4Queries {
    static constexpr int kGroup = kScaleGroup;  // elements that a group's channels take
    static bool enter(float*, int) { return true; }

    // sums[r][s] = products of a group's channels.
    template <int kRows>
    static void multiply(const float (*own)[kGroup], const vf (*codes)[4], vf (*sums)[kFloat4Sets]) {
        constexpr int kSplit = kRows < 4 ? 2 : 1;  // products of a sum follow each other closely
        vf part[kSplit][kRows][kFloat4Sets] = {};
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++) {
                vf x[kFloat4Sets];
#pragma GCC unroll 2
                for (int s = 0; s < kFloat4Sets; s++) {
                    x[s] = numbers_of_e2m1(reinterpret_cast<vu>(codes[s][i]) >> (4 * j));
                }
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) {
                    const vf query = splat(own[r][8 * i + j]);
#pragma GCC unroll 2
                    for (int s = 0; s < kFloat4Sets; s++) {
                        vf& sum = part[j % kSplit][r][s];
                        sum = fma(query, x[s], sum);
                    }
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 2
            for (int s = 0; s < kFloat4Sets; s++) {
                sums[r][s] = kSplit == 1 ? part[0][r][s] : part[0][r][s] + part[kSplit - 1][r][s];
            }
        }
    }
};

// Processors with AMX multiply pairs at a quarter of the rate of fp32 numbers.
#if defined(__AVX512BF16__) && !defined(__AMX_TILE__)
#define ACL_ATTN_FLOAT4_PAIRS
#endif

#if defined(ACL_ATTN_FLOAT4_PAIRS)
// In pairs of bf16, which the numbers are exactly: of channels that are four apart, as the halves of eight have them.
// kParts: 1 for queries of bf16, 2 for those of fp16, the sums of two. The instruction takes and makes no subnormals:
// rows with numbers far from 1 are computed by others.
template <int kParts>
struct Float4PairQueries {
    static constexpr int kGroup = kScaleGroup / 2 * kParts;

    static bool enter(float* query, int padded_dim) {
        typedef float quad __attribute__((vector_size(16)));
        typedef uint32_t quad_bits __attribute__((vector_size(16)));
        constexpr uint32_t most = (127 + 60) << 23, least = (127 - 90) << 23;
        vi is_outside = {};
        for (int d = 0; d < padded_dim; d += kLanes) {
            const vu magnitude = load<vu>(query + d) & 0x7fffffffu;
            is_outside |= reinterpret_cast<vi>(magnitude - 1 < least - 1) | reinterpret_cast<vi>(magnitude > most);
        }
        float* to = query;
        for (int d = 0; d < padded_dim; d += 8) {
            quad low = load<quad>(query + d), high = load<quad>(query + d + 4);
            for (int part = 0; part < kParts; part++, to += 4) {
                const quad_bits low_bits = reinterpret_cast<quad_bits>(low) & 0xffff0000u;
                const quad_bits high_bits = reinterpret_cast<quad_bits>(high) & 0xffff0000u;
                store(to, low_bits >> 16 | high_bits);
                low -= reinterpret_cast<quad>(low_bits);
                high -= reinterpret_cast<quad>(high_bits);
            }
        }
        return !any(is_outside);
    }

    // As Float4Queries::multiply.
    template <int kRows>
    static void multiply(const float (*own)[kGroup], const vf (*codes)[4], vf (*sums)[kFloat4Sets]) {
        const __m512i table = load<__m512i>(kNumbers);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 2
            for (int s = 0; s < kFloat4Sets; s++) sums[r][s] = vf{};
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                __m512bh x[kFloat4Sets];
#pragma GCC unroll 2
                for (int s = 0; s < kFloat4Sets; s++) {
                    const __m512i words = _mm512_srli_epi16(reinterpret_cast<__m512i>(codes[s][i]), 4 * j);
                    x[s] = reinterpret_cast<__m512bh>(_mm512_permutexvar_epi16(words, table));
                }
#pragma GCC unroll 2
                for (int part = 0; part < kParts; part++) {
#pragma GCC unroll 4
                    for (int r = 0; r < kRows; r++) {
                        const vf pair = splat_bits(own[r] + (i * kParts + part) * 4 + j);
#pragma GCC unroll 2
                        for (int s = 0; s < kFloat4Sets; s++) {
                            sums[r][s] = _mm512_dpbf16_ps(sums[r][s], x[s], reinterpret_cast<__m512bh>(pair));
                        }
                    }
                }
            }
        }
    }

private:
    static vf splat_bits(const float* p) {
        int32_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return as_float(splat_int(bits));
    }

    // As bf16, twice: a look-up by words looks at five bits.
    alignas(64) static constexpr uint16_t kNumbers[32] = {
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0,  //
        0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,  //
        0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0};
};
#endif

// scores[r][k] = scale * query[r] . keys[k] for kRows rows and some keys, rounded up to whole vectors; as many rows of
// keys, rounded up to all sets, can be read. The scales of key k begin at scales[k * groups].
template <class Queries, int kRows>
__attribute__((noinline)) void dot_float4(const float* query, ptrdiff_t ldq, int dim, const StreamRows& keys,
                                          const uint8_t* scales, float scale, float* scores, ptrdiff_t lds) {
    constexpr int kSets = kFloat4Sets, kGroupBytes = kScaleGroup / 2;
    const int groups = groups_of(dim);
    const vf factor = splat(scale);
    for (int first = 0; first < keys.count; first += kSets * kLanes) {
        vf sums[kRows][kSets] = {};
        vu exponents[kSets] = {};
#pragma GCC unroll 1
        for (int g = 0; g < groups; g++) {
            vf codes[kSets][4], of_group[kRows][kSets];
            float own[kRows][Queries::kGroup];  // side by side
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) {
                __builtin_memcpy(own[r], query + r * ldq + g * Queries::kGroup, sizeof own[r]);
            }
#pragma GCC unroll 2
            for (int s = 0; s < kSets; s++) {
                const int n = first + s * kLanes;
                transpose_group(keys.rows + n, keys.offset, g * kGroupBytes, dim / 2, codes[s]);
                if (g % 4 == 0) exponents[s] = load_scales(scales + n * groups + g, groups);
            }
            Queries::template multiply<kRows>(own, codes, of_group);
#pragma GCC unroll 2
            for (int s = 0; s < kSets; s++) {
                const vf scale_of_key = reinterpret_cast<vf>((exponents[s] & 0xffu) << 23);
                exponents[s] >>= 8;
#pragma GCC unroll 4
                for (int r = 0; r < kRows; r++) sums[r][s] = fma(of_group[r][s], scale_of_key, sums[r][s]);
            }
            if (keys.ahead != nullptr) keys.ahead->advance(kSets * kLanes * kGroupBytes);
        }
        for (int s = 0; s < kSets && first + s * kLanes < keys.count; s++, scores += kLanes) {
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) store(scores + r * lds, sums[r][s] * factor);
        }
    }
}

class Float4Keys {
public:
    static constexpr int kElements = kScaleGroup;

    Float4Keys(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldq_(round_up(block.dim, kElements)) {}

    // As StreamKeys::enter.
    bool enter(int, int, float* query) const {
        return with_queries([&](auto queries) { return decltype(queries)::enter(query, ldq_); });
    }

    // As StreamKeys::score, but a head's keys before the next one's: rows are short, no page is left for long.
    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) const {
        constexpr int at_once = kFloat4Sets * kLanes;
        const void* padded[kStreamKeys];
        if (count % at_once != 0) {
            for (int k = 0; k < round_up(count, at_once); k++) padded[k] = rows[k < count ? k : count - 1];
            rows = padded;
        }
        with_queries([&](auto queries) {
            for (int h = 0; h < b_.kv_heads; h++) {
                StreamRows keys = {rows, h * b_.key.head_stride, count, &ahead};
                const uint8_t* scales = scale_codes(s_.key_scales, h, b_.dim) + begin * groups_of(b_.dim);
                for_row_blocks(rows_, [&](int r, auto block_rows) {
                    const ptrdiff_t i = h * rows_ + r;
                    dot_float4<decltype(queries), decltype(block_rows)::value>(
                        s_.query + i * ldq_, ldq_, b_.dim, keys, scales, b_.scale,
                        scores + i * kStreamScoreStride + begin, kStreamScoreStride);
                    keys.ahead = nullptr;
                });
            }
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

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldq_;
};

}  // namespace
}  // namespace acl_attn::engine
