// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Codes of 8-bit floating-point formats for the products of decode, from tables that fit registers: of 64 codes the two
// bytes of bf16 numbers, which are fp32 after a shift or a mask.
#pragma once

#include "engine/amx_codes-inl.h"
#include "engine/stream-inl.h"

namespace acl_attn::engine {
namespace {

template <class T, class Self>
struct Float8Stretch {
    using Codes = Float8Codes<T>;
    static constexpr int kVectors = 4;
    static constexpr int kElements = Codes::kPiece;
    static constexpr int kBytes = kElements;
    using Element = uint8_t;
    static_assert(kElements == kVectors * kLanes, "whole vectors");

    vf pairs[2];

    static Self load(const Element* p) { return load_part(p, kElements); }
    static Self load_part(const Element* p, int n) {
        vt numbers[2];
        Codes::keys(p, n, numbers);
        Self made;
        for (int i = 0; i < 2; i++) made.pairs[i] = reinterpret_cast<vf>(numbers[i]);
        return made;
    }
    vf vector(int i) const { return i % 2 == 0 ? widen_low(BF16{}, pairs[i / 2]) : widen_high(BF16{}, pairs[i / 2]); }
    static vf madd(vf acc, vf own, vf x) { return fma(own, x, acc); }

    // Which channel lane i % kLanes of vector i / kLanes is.
    static constexpr int channel(int i) {
        const int vector = i / kLanes;
        return Codes::key_channel(vector / 2 * 2 * kLanes + i % kLanes * 2 + vector % 2);
    }
    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return channel(i); });
    }
    static void to_memory_order(float* x) {
        restore_channels<kElements>(x, [](int i) { return channel(i); });
    }
};
template <>
struct Stretch<E4M3> : Float8Stretch<E4M3, Stretch<E4M3>> {};
template <>
struct Stretch<HiFloat8> : Float8Stretch<HiFloat8, Stretch<HiFloat8>> {};

}  // namespace
}  // namespace acl_attn::engine
