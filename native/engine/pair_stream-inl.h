// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from pairs of bf16, as one instruction multiplies and adds them: keys go into it as they lie, or
// as a table makes them of codes, where fp32 would need two conversions and two multiply-adds. Products are exact, so
// that scores are what fp32 makes of them but for the order of the sum. Sums of values stay in fp32: probabilities of
// bf16 would have to have a second part for many keys (residuals-inl.h), which takes as long.
#pragma once

#include "engine/float8_stream-inl.h"
#include "engine/scales-inl.h"
#include "engine/stream_products-inl.h"

namespace acl_attn::engine {
namespace {

// The order of memory; a query's vector has pairs as well.
struct PairStretch {
    static constexpr int kVectors = 1;
    static constexpr int kElements = 2 * kLanes;
    static constexpr int kBytes = 2 * kElements;
    using Element = uint16_t;

    vf pairs;

    static PairStretch load(const Element* p) { return {engine::load<vf>(p)}; }
    static PairStretch load_part(const Element* p, int n) { return {Stretch<BF16>::load_part(p, n).pairs}; }
    vf vector(int) const { return pairs; }
    static vf madd(vf acc, vf own, vf x) { return Bf16PairOperand::madd(acc, own, x); }
};

// Makes bf16 of `count` numbers that are, in their place. False: rows of such queries must be computed in fp32. The
// instruction takes and makes no subnormals: those of keys, and of products, do not show beside the scores of ordinary
// queries at ordinary scales.
inline bool narrow_query(float* query, int count, float scale) {
    constexpr uint32_t most = (127 + 60) << 23, least = 1 << 23;
    vi is_outside = {};
    for (int d = 0; d < count; d += 2 * kLanes) {
        vh halves[2];
        for (int v = 0; v < 2; v++) {
            const vu bits = load<vu>(query + d + v * kLanes), magnitude = bits & 0x7fffffffu;
            is_outside |= reinterpret_cast<vi>(magnitude - 1 < least - 1) | reinterpret_cast<vi>(magnitude > most);
            halves[v] = truncate(bits >> 16);
        }
        for (int v = 0; v < 2; v++) store(query + d / 2 + v * kLanes / 2, halves[v]);
    }
    return !any(is_outside) && __builtin_fabsf(scale) < 0x1p30f;
}

class PairKeys : public StreamKeys<BF16, PairStretch> {
public:
    using StreamKeys::StreamKeys;
    bool enter(int, int, float* query) { return narrow_query(query, ldq_, b_.scale); }
};

template <class T>
struct Float8PairStretch : Float8Pairs<T> {
    using Element = uint8_t;
    static Float8PairStretch load(const Element* p) { return {Float8Pairs<T>::load(p)}; }
    static Float8PairStretch load_part(const Element* p, int n) { return {Float8Pairs<T>::load_part(p, n)}; }
    static vf madd(vf acc, vf own, vf x) { return Bf16PairOperand::madd(acc, own, x); }
};

// Queries that are bf16 stay so where no channel has a scale of its own: one that all share goes to the scores.
template <class T>
class Float8Keys : public StreamKeys<T> {
    using Base = StreamKeys<T>;
    using Base::b_;
    using Base::ldq_;

public:
    Float8Keys(const RowBlock& block, const Scratch& scratch, int rows)
        : Base(block, scratch, rows), scale_(block.key_addition.scale),
          has_head_scale_(is_constant(scale_, block.prefix_len)),
          is_paired_(block.sink.query_dtype == Dtype::bf16 && (!has_head_scale_ || scale_.group >= block.dim)) {}

    bool enter(int h, int r, float* query) {
        if (!is_paired_) return Base::enter(h, r, query);
        widen_query(b_, h, b_.row_begin + r, query);  // without the scale that it was multiplied by
        factor_[h] = b_.scale * (has_head_scale_ ? read_number(scale_.dtype, of_head(scale_, h).base) : 1.0f);
        for (int d = 0; d < ldq_; d += Float8Pairs<T>::kElements) Float8Pairs<T>::to_own_order(query + d);
        return narrow_query(query, ldq_, factor_[h]);
    }

    void score(const void* const* rows, int count, int begin, float* scores, ReadAhead& ahead) {
        if (!is_paired_) return Base::score(rows, count, begin, scores, ahead);
        const auto scale = [&](int h) { return factor_[h]; };
        this->template score_with<Float8PairStretch<T>>(scale, rows, count, begin, scores, ahead);
    }

private:
    const ScaleView& scale_;
    const bool has_head_scale_, is_paired_;
    float factor_[kStreamItemRows];  // of a head's scores
};

template <>
struct DecodeProducts<BF16> : StreamProducts<BF16> {
    using Keys = PairKeys;
};

template <class T>
struct Float8Products : StreamProducts<T> {
    using Keys = Float8Keys<T>;
};
template <>
struct DecodeProducts<E4M3> : Float8Products<E4M3> {};
template <>
struct DecodeProducts<HiFloat8> : Float8Products<HiFloat8> {};

}  // namespace
}  // namespace acl_attn::engine
