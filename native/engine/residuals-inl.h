// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Probabilities as pairs of bf16, and what their rounding left. Rounding them costs almost as much accuracy as rounding
// the output: together 0.0023 of the output's RMS on normal data, where 0.0020 is promised. A second product of all
// that was left would take as long as the first, but few pairs hold most of it: the largest probabilities do, and among
// those of a size the ones that lay far from a bf16. So a row lists pairs with large residuals, as many as accuracy
// needs, and adds only their products: a tenth of all where scores are normal, two fifths where they are almost equal.
// What is listed depends on nothing but the row's own probabilities in the tile.
#pragma once

#include "engine/gemm-inl.h"
#include "engine/half-inl.h"

#if defined(__AVX512BF16__)
namespace acl_attn::engine {
namespace {

class PairResiduals {
public:
    // What is known of a row's columns of a tile before any are listed.
    struct Row {
        alignas(64) int32_t residuals[kTileKeys / 2];  // pairs in their places
        float squares, sizes;                          // sums of the probabilities'
    };

    // Writes a row's probabilities of columns [begin, end) of a tile, multiplied by `scales` if there are any, as bf16.
    // The blocks of columns that begin and end lie in are written as a whole, zeros outside.
    static void round(float* probabilities, const float* scales, int begin, int end, uint16_t* rounded, Row& row) {
        const int first = begin / kBlock, last = blocks_to(end);
        if (begin % kBlock != 0) store(probabilities + first * kBlock, vf{});
        if (end % kBlock != 0) store(probabilities + end, vf{});
        const vf ones = to_pairs(splat(1.0f), splat(1.0f));
        vf squares = {}, sizes = {};
        for (int b = first; b < last; b++) {
            vf p[2];
            for (int i = 0; i < 2; i++) {
                const int column = b * kBlock + i * kLanes;
                p[i] = load<vf>(probabilities + column);
                if (scales != nullptr) p[i] *= load<vf>(scales + column);
            }
            const vf pairs = to_pairs(p[0], p[1]);
            store(rounded + b * kBlock, pairs);
            squares = Bf16PairOperand::madd(squares, pairs, pairs);
            sizes = Bf16PairOperand::madd(sizes, absolute(pairs), ones);
            store(row.residuals + b * kLanes, to_pairs(p[0] - lower_keys(pairs), p[1] - upper_keys(pairs)));
        }
        row.squares = reduce_sum(squares);
        row.sizes = reduce_sum(sizes);
    }

    static void list_large(const Row& row, int begin, int end, ResidualList& list) {
        // Seen from a probability as most of the sum consists of, the same bound is enough for almost all rows, whether
        // few keys matter or many. What is enough for any is reached soon.
        const float typical = row.squares / row.sizes, negligible = row.squares * kNegligible;
        float bound = 5e-6f * typical * typical;
        while (list_above(bound, row, begin / kBlock, blocks_to(end), list) > negligible) bound *= 0.6f;
    }

    // What the lists of a block's rows, one after another, add to its products with a panel.
    PairResiduals(const ResidualList* lists, const float* panel) : lists_(lists), panel_(panel) {}

    // In two chains of additions, because one would wait for itself.
    template <int kUsed>
    __attribute__((always_inline)) void operator()(int r, vf (&sums)[kUsed]) const {
        const ResidualList& list = lists_[r];
        vf odd[kUsed] = {};
        for (int i = 0; i < list.count; i += 2) {
            add_product(list, i, sums);
            add_product(list, i + 1, odd);
        }
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) sums[c] += odd[c];
    }

private:
    static constexpr int kBlock = 2 * kLanes;  // columns whose pairs fill a vector
    static constexpr int kStepBytes = kNr * 4;
    // Squared residuals that a row may leave out, of its squared probabilities: the output's own rounding is 2.8e-6 of
    // its square. Both of a tile: keys of another one may outweigh it, but with small values. Scales of values below
    // 2^-54 make squares that the instruction takes for 0: then nothing is listed.
    static constexpr float kNegligible = 1e-6f;

    static int blocks_to(int end) { return (end + kBlock - 1) / kBlock; }
    static vf to_pairs(vf low, vf high) { return reinterpret_cast<vf>(_mm512_cvtne2ps_pbh(high, low)); }
    static vf lower_keys(vf pairs) { return widen(BF16{}, half(_mm512_castsi512_si256(bits(pairs)))); }
    static vf upper_keys(vf pairs) { return widen(BF16{}, half(_mm512_extracti64x4_epi64(bits(pairs), 1))); }
    static vf absolute(vf pairs) { return as_float(as_int(pairs) & 0x7fff7fff); }
    static __m512i bits(vf pairs) { return reinterpret_cast<__m512i>(pairs); }
    static vh half(__m256i v) { return reinterpret_cast<vh>(v); }

    // Lists the pairs of blocks [first, last) whose squares are larger than `bound`; returns the sum of the others'.
    static float list_above(float bound, const Row& row, int first, int last, ResidualList& list) {
        vi offset = (lane_index() + first * kLanes) * kStepBytes;
        vf left = {};
        size_t count = 0;
        for (int b = first; b < last; b++, offset += kLanes * kStepBytes) {
            const vf pairs = load<vf>(row.residuals + b * kLanes);
            const vf squares = Bf16PairOperand::madd(vf{}, pairs, pairs);
            const __mmask16 is_larger = _mm512_cmp_ps_mask(squares, splat(bound), _CMP_GT_OQ);
            left = _mm512_mask_add_ps(left, _knot_mask16(is_larger), left, squares);
            store(list.pairs + count, _mm512_maskz_compress_epi32(is_larger, bits(pairs)));
            store(list.offsets + count, _mm512_maskz_compress_epi32(is_larger, reinterpret_cast<__m512i>(offset)));
            count += static_cast<size_t>(__builtin_popcount(_cvtmask16_u32(is_larger)));
        }
        // An even number: one more is 0, times values that are finite.
        list.pairs[count] = 0;
        list.offsets[count] = list.offsets[count > 0 ? count - 1 : 0];
        list.count = static_cast<int32_t>((count + 1) / 2 * 2);
        return reduce_sum(left);
    }

    template <int kUsed>
    __attribute__((always_inline)) void add_product(const ResidualList& list, int i, vf (&sums)[kUsed]) const {
        const vf residual = as_float(splat_int(list.pairs[i]));
        const char* step = reinterpret_cast<const char*>(panel_) + list.offsets[i];
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) {
            sums[c] = Bf16PairOperand::madd(sums[c], residual, load<vf>(step + c * sizeof(vf)));
        }
    }

    const ResidualList* lists_;
    const float* panel_;
};

}  // namespace
}  // namespace acl_attn::engine
#endif
