// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums of values of decode from FLOAT4_E2M1 codes, in fp32. Each 32-bit lane has four neighbours: one look-up makes
// a vector of numbers from one code of every lane, and probabilities are multiplied by the scales of the lanes' groups.
#pragma once

#include "engine/group_scales-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// As many codes as kVectors vectors of numbers have: lane i's channels are kVectors * i and those after it.
struct Float4Piece {
    static constexpr int kVectors = 4;
    static constexpr int kElements = kVectors * kLanes;
    static constexpr int kBytes = kElements / 2;

    vu codes;  // in the lower halves

    static Float4Piece load(const uint8_t* p, int bytes) { return {extend(load_bytes<vh>(p, bytes))}; }
    vf vector(int v) const { return numbers_of_e2m1(codes >> (4 * v)); }

    static constexpr int channel(int i) { return i % kLanes * kVectors + i / kLanes; }

    // Of the piece's groups, each in the lanes that have its channels; `scales`: the first one's code.
    static vf spread(const uint8_t* scales) {
#if defined(__AVX512BW__)
        static_assert(kElements == 2 * kScaleGroup, "two groups");
        int32_t both;
        __builtin_memcpy(&both, scales, sizeof both);
        // Into the uppermost byte of a lane, and from there to the exponent.
        const vu order = (reinterpret_cast<vu>(lane_index()) / 8 << 24) | 0x00808080u;
        const __m512i upper = _mm512_shuffle_epi8(_mm512_set1_epi32(both), reinterpret_cast<__m512i>(order));
        return reinterpret_cast<vf>(reinterpret_cast<vu>(upper) >> 1);
#else
        static_assert(kScaleGroup % kElements == 0, "one group");
        return as_float(splat_int(int32_t{scales[0]} << 23));
#endif
    }
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
    // As Float4Keys: a tile's of a head before the next head's.
    static constexpr int kKeys = kStreamKeys;
    static constexpr int kUnordered = kStreamKeys;

    Float4Values(const RowBlock& block, const Scratch& scratch, int rows)
        : b_(block), s_(scratch), rows_(rows), ldo_(round_up(block.dim_v, kElements)) {}

    static int ahead_of_softmax() { return 0; }  // as StreamValues'

    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return Float4Piece::channel(i); });
    }
    static void to_memory_order(float* x) {
        restore_channels<kElements>(x, [](int i) { return Float4Piece::channel(i); });
    }

    // As StreamValues::add.
    void add(int h, const void* const* rows, int64_t offset, int begin, int count, const float* scores, float* out,
             ReadAhead* ahead) const {
        const int bytes = b_.dim_v / 2, groups = groups_of(b_.dim_v);
        StreamRows values = {rows, offset, count, ahead};
        for_row_blocks(rows_, [&](int r, auto block_rows) {
            constexpr int kRows = decltype(block_rows)::value;
            const uint8_t* const scales = scale_codes(s_.value_scales, h, b_.dim_v) + begin * groups;
            float* to = out + r * ldo_;
            for (int at = 0; at < bytes; at += Float4Piece::kBytes, to += kElements) {
                values.offset = offset + at;
                add_parts<kRows>(scores + r * kStreamScoreStride + begin, values, bytes - at,
                                 scales + 2 * at / kScaleGroup, groups, to);
            }
            values.ahead = nullptr;
        });
    }
    void finish() {}

private:
    template <int kRows, int kFirst = 0>
    void add_parts(const float* probabilities, const StreamRows& values, int bytes, const uint8_t* scales, int groups,
                   float* out) const {
        constexpr int kUsed = kRows < 4 ? Float4Piece::kVectors : kVectors;  // as there are registers for
        add_float4<kRows, kUsed, kFirst>(probabilities, kStreamScoreStride, values, bytes, scales, groups, out, ldo_);
        if constexpr (kFirst + kUsed < Float4Piece::kVectors) {
            add_parts<kRows, kFirst + kUsed>(probabilities, values, bytes, scales, groups, out);
        }
    }

    const RowBlock& b_;
    const Scratch& s_;
    const int rows_, ldo_;
};

}  // namespace
}  // namespace acl_attn::engine
