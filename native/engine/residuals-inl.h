// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Probabilities as pairs of bf16, and what their rounding left. Rounding them costs almost as much accuracy as rounding
// the output: together 0.0023 of the output's RMS on normal data, where 0.0020 is promised. A second product of all
// that was left would take as long as the first, but few pairs hold most of it: the largest probabilities do, and among
// those of a size the ones that lay far from a bf16. So a row lists its pairs whose residuals are large and adds
// only their products. What is listed depends on nothing but the row's own probabilities in the tile.
#pragma once

#include "engine/gemm-inl.h"
#include "engine/half-inl.h"

#if defined(__AVX512BF16__)
namespace acl_attn::engine {
namespace {

class PairResiduals {
public:
    // Writes a row's probabilities of columns [begin, end) of a tile, multiplied by `scales` if there are any, as bf16,
    // and lists residuals. The two blocks of kPairKeys that begin and end lie in are written as a whole, zeros outside.
    static void round(float* probabilities, const float* scales, int begin, int end, uint16_t* rounded,
                      ResidualList& list) {
        const int first = begin / kBlockKeys * kBlockKeys;
        if (begin > first) store(probabilities + first, vf{});
        if ((end - first) % kBlockKeys != 0) store(probabilities + end, vf{});
        const auto scaled = [&](int c) {
            const vf p = load<vf>(probabilities + c);
            return scales == nullptr ? p : p * load<vf>(scales + c);
        };
        vf squares = {};
        for (int c = first; c < end; c += kBlockKeys) {
            const vf low = scaled(c), high = scaled(c + kLanes);
            const vf pairs = to_pairs(low, high);
            store(rounded + c, pairs);
            squares = Bf16PairOperand::madd(squares, pairs, pairs);
            store(list.pairs + c / 2, to_pairs(low - lower_keys(pairs), high - upper_keys(pairs)));
        }
        select(reduce_sum(squares) * kNegligible, first, end, list);
    }

    // sums[c] += what is listed times the panel's columns; two chains of additions, because one would wait for itself.
    template <int kUsed>
    static void add(const ResidualList& list, const float* panel, float* sums) {
        vf even[kUsed], odd[kUsed] = {};
        for (int c = 0; c < kUsed; c++) even[c] = load<vf>(sums + c * kLanes);
        for (int i = 0; i < list.count; i += 2) {
            add_product(list, i, panel, even);
            add_product(list, i + 1, panel, odd);
        }
        for (int c = 0; c < kUsed; c++) store(sums + c * kLanes, even[c] + odd[c]);
    }

private:
    static constexpr int kBlockKeys = 2 * kLanes;
    // Of the sum of a row's squared probabilities in a tile: a pair's squared residuals up to here are left out, so
    // that those of all pairs are at most 3e-6 of it, and 0.6e-6 on normal data. The output's own rounding is 2.8e-6.
    static constexpr float kNegligible = 3e-6f / (kTileKeys / 2);

    static vf to_pairs(vf low, vf high) { return reinterpret_cast<vf>(_mm512_cvtne2ps_pbh(high, low)); }
    static vf lower_keys(vf pairs) { return widen(BF16{}, half(_mm512_castsi512_si256(bits(pairs)))); }
    static vf upper_keys(vf pairs) { return widen(BF16{}, half(_mm512_extracti64x4_epi64(bits(pairs), 1))); }
    static __m512i bits(vf pairs) { return reinterpret_cast<__m512i>(pairs); }
    static vh half(__m256i v) { return reinterpret_cast<vh>(v); }

    // list.pairs holds all pairs of columns [first, end) in their places, and then those with larger squares.
    static void select(float negligible, int first, int end, ResidualList& list) {
        vi offset = (lane_index() + first / 2) * kStepBytes;
        int count = 0;
        for (int c = first; c < end; c += kBlockKeys, offset += kLanes * kStepBytes) {
            const vf pairs = load<vf>(list.pairs + c / 2);
            const vf squares = Bf16PairOperand::madd(vf{}, pairs, pairs);
            const __mmask16 large = _mm512_cmp_ps_mask(squares, splat(negligible), _CMP_GT_OQ);
            store(list.pairs + count, _mm512_maskz_compress_epi32(large, bits(pairs)));
            store(list.offsets + count, _mm512_maskz_compress_epi32(large, reinterpret_cast<__m512i>(offset)));
            count += __builtin_popcount(large);
        }
        // An even number: one more is 0, times values that are finite.
        list.pairs[count] = 0;
        list.offsets[count] = list.offsets[count > 0 ? count - 1 : 0];
        list.count = (count + 1) / 2 * 2;
    }

    template <int kUsed>
    __attribute__((always_inline)) static void add_product(const ResidualList& list, int i, const float* panel,
                                                           vf (&sums)[kUsed]) {
        const vf residual = as_float(splat_int(list.pairs[i]));
        const char* step = reinterpret_cast<const char*>(panel) + list.offsets[i];
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) {
            sums[c] = Bf16PairOperand::madd(sums[c], residual, load<vf>(step + c * sizeof(vf)));
        }
    }

    static constexpr int kStepBytes = kNr * 4;
};

}  // namespace
}  // namespace acl_attn::engine
#endif
