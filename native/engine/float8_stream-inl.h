// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Codes of 8-bit floating-point formats for the products of decode, from tables that fit registers: of 64 codes the two
// bytes of bf16 numbers, which are fp32 after a shift or a mask.
#pragma once

#include <type_traits>

#include "engine/amx_codes-inl.h"
#include "engine/stream-inl.h"
#include "formats/float8.h"

namespace acl_attn::engine {
namespace {

// The two bytes of codes 0 .. 127 as bf16 numbers.
struct BytePlanes {
    alignas(64) uint8_t low[128], high[128];

    constexpr void set(int code, uint16_t bf16) {
        low[code] = static_cast<uint8_t>(bf16);
        high[code] = static_cast<uint8_t>(bf16 >> 8);
    }
};

template <class T>
constexpr BytePlanes byte_planes() {
    BytePlanes planes = {};
    for (int code = 0; code < 128; code++) {
        if constexpr (std::is_same_v<T, HiFloat8>) {
            planes.set(code, formats::kHiFloat8Table.bf16[code]);
        } else {
            planes.set(code, formats::bf16_of_e4m3(code));
        }
    }
    return planes;
}

// 64 codes as two vectors of bf16 pairs: of each 16 the first eight in vector 0, the others in vector 1.
template <class T>
struct Float8Pairs {
    static constexpr int kVectors = 2;
    static constexpr int kElements = 4 * kLanes;
    static constexpr int kBytes = kElements;
    using Element = uint8_t;

    vf pairs[2];

    static Float8Pairs load(const Element* p) { return load_part(p, kElements); }
    static Float8Pairs load_part(const Element* p, int n) {
        const vt codes = load_row_part(p, n);
        const auto look_up = [&](const uint8_t* table) {
            return reinterpret_cast<vt>(_mm512_permutex2var_epi8(
                engine::load<__m512i>(table), reinterpret_cast<__m512i>(codes), engine::load<__m512i>(table + 64)));
        };
        vt low = look_up(kPlanes.low), high = look_up(kPlanes.high) | (codes & uint8_t{0x80});
        if constexpr (std::is_same_v<T, HiFloat8>) {
            const vt is_nan = reinterpret_cast<vt>(codes == formats::kNanHiFloat8);
            high |= is_nan & uint8_t{0x7f};
            low |= is_nan & uint8_t{0xc0};
        }
        return {{reinterpret_cast<vf>(zip_rows<1, false>(low, high)),
                 reinterpret_cast<vf>(zip_rows<1, true>(low, high))}};
    }
    vf vector(int i) const { return pairs[i]; }

    // Which channel number i of the vectors is.
    static constexpr int channel(int i) {
        const int vector = i / (2 * kLanes), in_vector = i % (2 * kLanes);
        return in_vector / 8 * 16 + vector * 8 + in_vector % 8;
    }
    static void to_own_order(float* x) {
        order_channels<kElements>(x, [](int i) { return channel(i); });
    }

private:
    static constexpr BytePlanes kPlanes = byte_planes<T>();
};

// The same as fp32: the lower and the upper halves of each vector's pairs.
template <class T, class Self>
struct Float8Stretch {
    using Pairs = Float8Pairs<T>;
    static constexpr int kVectors = 2 * Pairs::kVectors;
    static constexpr int kElements = Pairs::kElements;
    static constexpr int kBytes = Pairs::kBytes;
    using Element = uint8_t;

    Pairs codes;

    static Self load(const Element* p) { return load_part(p, kElements); }
    static Self load_part(const Element* p, int n) {
        Self made;
        made.codes = Pairs::load_part(p, n);
        return made;
    }
    vf vector(int i) const {
        const vf pairs = codes.vector(i / 2);
        return i % 2 == 0 ? widen_low(BF16{}, pairs) : widen_high(BF16{}, pairs);
    }
    static vf madd(vf acc, vf own, vf x) { return fma(own, x, acc); }

    // Which channel lane i % kLanes of vector i / kLanes is.
    static constexpr int channel(int i) {
        const int vector = i / kLanes;
        return Pairs::channel(vector / 2 * 2 * kLanes + i % kLanes * 2 + vector % 2);
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
