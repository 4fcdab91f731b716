// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// FLOAT4_E2M1 codes whose groups of channels have scales of their own, for the products of decode. Each 32-bit lane of a
// register holds eight neighbours, four lanes are a group: one look-up makes a vector of numbers from one code of every
// lane, and scales multiply what is already summed over a lane (of keys), or the probabilities (of values).
#pragma once

#include "engine/group_scales-inl.h"
#include "engine/stream-inl.h"

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

}  // namespace
}  // namespace acl_attn::engine
