// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The register-blocked product of kMr rows and up to kNr columns, over packed panels. Every element of the result is
// one chain of multiply-adds in the order of k: neither the block's shape nor its position changes a bit of it.
#pragma once

#include "engine/kernels.h"
#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

// With kMr rows as many accumulators as leave registers for kVectors columns and one row element.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif
constexpr int kNr = kVectors * kLanes;

template <class T, class Operand, class Owner>
class TileRows;  // tile_rows-inl.h
class PairResiduals;  // residuals-inl.h

// What panels are made of. A step consumes kDepth values of k from each row: one 32-bit element.
struct VectorOperand {
    static constexpr int kColumns = kNr;    // of a panel
    static constexpr int kParts = 1;        // bf16 numbers whose sum stands for one, where they are bf16
    static constexpr int kQueryParts = 1;   // most of a query's
    static constexpr bool kTakesCodes = false;  // keys and values have scales that the products leave out
    static constexpr int kPairDistance = 1;  // of the two keys whose values share an element
    static constexpr int kSteps = 1;        // panels have a multiple of so many steps
    static constexpr int kTile = kTileKeys;  // keys of a tile
    static constexpr int kKeys = kLanes;    // and tiles are computed in whole multiples of so many keys
    static constexpr int kGroup = kMr;      // rows of the register block
    static constexpr int kBlockRows = kMaxBlockRows;
    static constexpr int kScoreRows = kStripRows;
    static constexpr bool kIsInPlace = false;  // probabilities stand where scores stood
    static constexpr bool kKeysOnLeft = false;  // of the first product: its panels hold rows of keys
};
struct Fp32Operand : VectorOperand {
    static constexpr int kDepth = 1;
    static vf madd(vf acc, vf a, vf b) { return fma(a, b, acc); }
    template <class T, class Owner>
    using Rows = TileRows<T, Fp32Operand, Owner>;
};
#if defined(__AVX512BF16__)
struct Bf16PairOperand : VectorOperand {
    static constexpr int kDepth = 2;
    using Residuals = PairResiduals;  // of probabilities
    template <class T, class Owner>
    using Rows = TileRows<T, Bf16PairOperand, Owner>;
    static vf madd(vf acc, vf a, vf b) {
        return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
    }
};
// Beside bf16 queries. With three parts of these fp32 numbers would take no longer.
struct Bf16PairCodeOperand : Bf16PairOperand {
    static constexpr int kQueryParts = 2;
    static constexpr bool kTakesCodes = true;
    template <class T, class Owner>
    using Rows = TileRows<T, Bf16PairCodeOperand, Owner>;
};
#endif

// A pair of bf16 may look like a signalling NaN: it is moved as an integer.
inline vf splat_element(const float* p) {
    int32_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return as_float(splat_int(bits));
}

// What a product's sums of a row get beside it: nothing.
struct NothingMore {
    template <int kUsed>
    void operator()(int, vf (&)[kUsed]) const {}
};

template <class Operand, int kUsed>
struct Accumulators {
    vf v[kMr][kUsed];

    // a: [kMr][lda] elements, b: [steps][kNr]. add_more(r, sums) then adds to the sums of row r; inside the function,
    // because accumulators stay in registers only there.
    template <class AddMore = NothingMore>
    __attribute__((always_inline)) void add(const float* a, ptrdiff_t lda, const float* b, int steps,
                                            AddMore add_more = {}) {
        vf acc[kMr][kUsed];
#pragma GCC unroll 8
        for (int r = 0; r < kMr; r++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) acc[r][c] = v[r][c];
        }
#pragma GCC unroll 1
        for (int s = 0; s < steps; s++, a++, b += kNr) {
            vf column[kUsed];
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) column[c] = load<vf>(b + c * kLanes);
#pragma GCC unroll 8
            for (int r = 0; r < kMr; r++) {
                const vf row = splat_element(a + r * lda);
#pragma GCC unroll 4
                for (int c = 0; c < kUsed; c++) acc[r][c] = Operand::madd(acc[r][c], row, column[c]);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < kMr; r++) add_more(r, acc[r]);
#pragma GCC unroll 8
        for (int r = 0; r < kMr; r++) {
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) v[r][c] = acc[r][c];
        }
    }
};

// Steps of a key panel that are used together: what fits the first-level cache.
constexpr int kKeySteps = 32768 / (kNr * 4);

// scores[r][c] = scale(c) * sum over k of query[r][k] * panel[k][c], `scale` of vectors. `is_rest`: added to what
// `scores` holds. The query has `parts` parts, each part_size elements behind the one before.
template <class Operand, int kUsed, class Scale>
inline void score_block(const float* query, int parts, ptrdiff_t part_size, ptrdiff_t ldq, const float* panel,
                        int steps, bool is_rest, Scale scale, float* scores, ptrdiff_t lds) {
    Accumulators<Operand, kUsed> acc = {};
    if (is_rest) {
        for (int r = 0; r < kMr; r++) {
            for (int c = 0; c < kUsed; c++) acc.v[r][c] = load<vf>(scores + r * lds + c * kLanes);
        }
    }
    acc.add(query, ldq, panel, steps);
    for (int part = 1; Operand::kQueryParts > 1 && part < parts; part++) {
        acc.add(query + part * part_size, ldq, panel, steps);
    }
    for (int c = 0; c < kUsed; c++) {
        const vf factor = scale(c);
        for (int r = 0; r < kMr; r++) store(scores + r * lds + c * kLanes, acc.v[r][c] * factor);
    }
}

// out[r][c] = out[r][c] * rescale[r] + sum over k of probabilities[r][k] * panel[k][c]; without the first term,
// whatever `out` holds, where rescale is null. And what add_more adds.
template <class Operand, int kUsed, class AddMore = NothingMore>
inline void value_block(const float* probabilities, ptrdiff_t ldp, const float* panel, int steps, const float* rescale,
                        float* out, ptrdiff_t ldo, AddMore add_more = {}) {
    Accumulators<Operand, kUsed> acc = {};
    for (int r = 0; r < kMr && rescale != nullptr; r++) {
        const vf factor = splat(rescale[r]);
        for (int c = 0; c < kUsed; c++) acc.v[r][c] = load<vf>(out + r * ldo + c * kLanes) * factor;
    }
    acc.add(probabilities, ldp, panel, steps, add_more);
    for (int r = 0; r < kMr; r++) {
        for (int c = 0; c < kUsed; c++) store(out + r * ldo + c * kLanes, acc.v[r][c]);
    }
}

// Calls body with the number of vectors that `columns` need, as a constant.
template <int kCount>
struct Constant {
    static constexpr int value = kCount;
};
template <class Body>
inline void with_vectors(int columns, Body body) {
    const int vectors = (columns + kLanes - 1) / kLanes;
    if (vectors >= kVectors) return body(Constant<kVectors>{});
    if constexpr (kVectors > 3) {
        if (vectors == 3) return body(Constant<3>{});
        if (vectors == 2) return body(Constant<2>{});
    }
    return body(Constant<1>{});
}

}  // namespace
}  // namespace acl_attn::engine
