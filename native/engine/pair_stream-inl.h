// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The scores of decode from pairs of bf16, as one instruction multiplies and adds them: keys go into it as they lie,
// where fp32 would need two conversions and two multiply-adds. Products are exact, so that scores are what fp32 makes
// of them but for the order of the sum. Sums of values stay in fp32: probabilities of bf16 would have to have a second
// part for many keys (residuals-inl.h), which takes as long.
#pragma once

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
    static vf madd(vf acc, vf own, vf x) {
        return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(own), reinterpret_cast<__m512bh>(x));
    }
};

class PairKeys : public StreamKeys<BF16, PairStretch> {
public:
    using StreamKeys::StreamKeys;

    // The instruction takes and makes no subnormals. Those of keys, and of products, do not show beside the scores of
    // ordinary queries at ordinary scales; rows with others are computed in fp32.
    bool enter(int, int, float* query) {
        constexpr uint32_t most = (127 + 60) << 23, least = 1 << 23;
        vi is_outside = {};
        for (int d = 0; d < ldq_; d += kElements) {
            vh halves[2];
            for (int v = 0; v < 2; v++) {
                const vu bits = load<vu>(query + d + v * kLanes), magnitude = bits & 0x7fffffffu;
                is_outside |= reinterpret_cast<vi>(magnitude - 1 < least - 1) | reinterpret_cast<vi>(magnitude > most);
                halves[v] = truncate(bits >> 16);
            }
            for (int v = 0; v < 2; v++) store(query + d / 2 + v * kLanes / 2, halves[v]);
        }
        return !any(is_outside) && __builtin_fabsf(b_.scale) < 0x1p30f;
    }
};

template <>
struct DecodeProducts<BF16> : StreamProducts<BF16> {
    using Keys = PairKeys;
};

}  // namespace
}  // namespace acl_attn::engine
