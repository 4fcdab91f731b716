// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows to numbers and back. Included by one translation unit for each instruction set; a layout that is a
// constant is folded into the code.
#pragma once

#include <type_traits>

#include "formats/hifloat8_narrow-inl.h"
#include "formats/packed_row.h"

namespace acl_attn::engine {
namespace {

// Scales from 2^-111 on leave no bits that bf16 lacks: the smallest code stands for 2^-22 (HIFLOAT8), and bf16's for
// 2^-133.
constexpr uint8_t kExactPackedScale = 16;

// Tiles of smaller numbers get the scale of this one, as with the vendor's producer.
constexpr float kLeastTile = 1e-4f;

inline float load_packed_scale(const formats::PackedRowLayout& layout, const uint8_t* row, int tile) {
    const uint8_t* at = row + layout.scales;
    switch (layout.scale) {
        case formats::PackedScale::e8m0: return load_wide_part<E8M0>(at + tile, 1)[0];
        case formats::PackedScale::bf16: {
            uint16_t code;
            __builtin_memcpy(&code, at + tile * 2, sizeof code);
            return load_wide_part<BF16>(&code, 1)[0];
        }
        case formats::PackedScale::f32: break;
    }
    float scale;
    __builtin_memcpy(&scale, at + tile * 4, sizeof scale);
    return scale;
}

// With scales in this range the exponents of a product with any code, from 2^-22 to 2^15 (HIFLOAT8), are those of
// normal bf16 numbers: scaling is an addition to the exponent.
constexpr uint8_t kLeastShift = 23, kLargestShift = 239;

#if defined(__AVX512BW__)
// 32 codes in 16-bit lanes as bf16, times 2^(shift / 128).
class ShiftedE4M3 {
public:
    explicit ShiftedE4M3(int shift)
        : bias_(_mm512_set1_epi16(static_cast<short>((120 << 7) + shift))),
          small_(_mm512_mask_add_epi16(load<__m512i>(kSmall), 0xfe, load<__m512i>(kSmall),
                                       _mm512_set1_epi16(static_cast<short>(shift)))) {}

    __m512i operator()(__m512i code) const {
        const __m512i size = _mm512_and_si512(code, _mm512_set1_epi16(0x7f));
        __m512i bits = _mm512_add_epi16(_mm512_slli_epi16(size, 4), bias_);
        const __mmask32 is_small = _mm512_cmplt_epu16_mask(size, _mm512_set1_epi16(8));
        bits = _mm512_mask_permutexvar_epi16(bits, is_small, size, small_);
        bits = _mm512_ternarylogic_epi32(bits, _mm512_slli_epi16(code, 8), _mm512_set1_epi16(-0x8000), 0xf8);
        const __mmask32 is_nan = _mm512_cmpeq_epi16_mask(size, _mm512_set1_epi16(0x7f));
        return _mm512_mask_mov_epi16(bits, is_nan, _mm512_set1_epi16(0x7fc0));
    }

private:
    // The first 8 codes, multiples of 2^-9.
    alignas(64) static constexpr uint16_t kSmall[32] = {0,      0x3b00, 0x3b80, 0x3bc0,
                                                        0x3c00, 0x3c20, 0x3c40, 0x3c60};
    __m512i bias_, small_;
};

class ShiftedHiFloat8 {
public:
    explicit ShiftedHiFloat8(int shift) : shift_(_mm512_set1_epi16(static_cast<short>(shift))) {}

    __m512i operator()(__m512i code) const {
        const uint16_t* table = formats::kHiFloat8Table.bf16;
        const __m512i low = _mm512_permutex2var_epi16(load<__m512i>(table), code, load<__m512i>(table + 32));
        const __m512i high = _mm512_permutex2var_epi16(load<__m512i>(table + 64), code, load<__m512i>(table + 96));
        const __m512i size =
            _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40)), high);
        // Neither 0 nor infinity changes.
        const __mmask32 is_scaled = _mm512_cmplt_epu16_mask(_mm512_sub_epi16(size, _mm512_set1_epi16(1)),
                                                            _mm512_set1_epi16(BF16::kExponent - 1));
        __m512i bits = _mm512_mask_add_epi16(size, is_scaled, size, shift_);
        bits = _mm512_ternarylogic_epi32(bits, _mm512_slli_epi16(code, 8), _mm512_set1_epi16(-0x8000), 0xf8);
        const __mmask32 is_nan = _mm512_cmpeq_epi16_mask(code, _mm512_set1_epi16(formats::kNanHiFloat8));
        return _mm512_mask_mov_epi16(bits, is_nan, _mm512_set1_epi16(0x7fc0));
    }

private:
    __m512i shift_;
};

template <class Code>
using ShiftedCodes = std::conditional_t<std::is_same_v<Code, E4M3>, ShiftedE4M3, ShiftedHiFloat8>;

template <class Code>
inline void unpack_shifted(const uint8_t* codes, int count, uint8_t scale, uint16_t* to) {
    const ShiftedCodes<Code> shifted((scale - 127) * (1 << 7));
    for (int c = 0; c < count; c += 32) {
        store(to + c, shifted(_mm512_cvtepu8_epi16(load<__m256i>(codes + c))));
    }
}
#endif

// --- To numbers: fp32 keeps the product as it is, bf16 and fp16 round it.

template <class To>
inline void store_number(typename To::Element* to, vf x) {
    if constexpr (sizeof *to == sizeof(float)) {
        store(to, x);
    } else {
        store(to, narrow(To{}, x));
    }
}

template <class Code, class To>
inline void unpack_row(const formats::PackedRowLayout& layout, const uint8_t* row, typename To::Element* to) {
    constexpr bool kIsBf16 = std::is_same_v<To, BF16>;
    for (int d = 0; d < layout.scaled; d += layout.tile) {
        const int tile = d / layout.tile;
#if defined(__AVX512BW__)
        if constexpr (kIsBf16) {
            const uint8_t code = row[layout.scales + tile];
            if (layout.scale == formats::PackedScale::e8m0 && code >= kLeastShift && code <= kLargestShift) {
                unpack_shifted<Code>(row + layout.codes + d, layout.tile, code, to + d);
                continue;
            }
        }
#endif
        const vf scale = splat(load_packed_scale(layout, row, tile));
        const auto unpack = [&](auto put) {
            for (int c = d; c < d + layout.tile; c += kLanes) {
                put(to + c, load_wide<Code>(row + layout.codes + c) * scale);
            }
        };
        const bool is_exact =
            kIsBf16 && layout.scale == formats::PackedScale::e8m0 && row[layout.scales + tile] >= kExactPackedScale;
        if (is_exact) {
            unpack([](typename To::Element* at, vf x) { store(at, truncate(reinterpret_cast<vu>(x) >> 16)); });
        } else {
            unpack(store_number<To>);
        }
    }
    typename To::Element* rope_to = to + layout.scaled;
    if constexpr (kIsBf16) {
        __builtin_memcpy(rope_to, row + layout.rope, sizeof(uint16_t) * formats::kPackedRope);
    } else {
        for (int c = 0; c < formats::kPackedRope; c += kLanes) {
            store_number<To>(rope_to + c, widen(BF16{}, load<vh>(row + layout.rope + c * 2)));
        }
    }
}

// --- From numbers.

// The largest magnitude of `count` numbers as bits: infinities and NaN are at least 0x7f800000.
template <class From>
inline uint32_t largest_bits(const typename From::Element* from, int count) {
    vu largest = {};
    for (int c = 0; c < count; c += kLanes) {
        const vu size = magnitude_of(load_wide<From>(from + c));
        largest = select_bits(reinterpret_cast<vi>(size) > reinterpret_cast<vi>(largest), size, largest);
    }
    uint32_t lane[kLanes];
    store(lane, largest);
    uint32_t result = 0;
    for (const uint32_t bits : lane) result = bits > result ? bits : result;
    return result;
}

// Stores the scale that brings `size` to at most `full`, rounded up where the kind of scale has fewer numbers, and
// returns it.
inline float store_packed_scale(const formats::PackedRowLayout& layout, float size, float full, uint8_t* row,
                                int tile) {
    uint8_t* at = row + layout.scales;
    uint32_t bits;
    const float exact = (size < kLeastTile ? kLeastTile : size) / full;
    __builtin_memcpy(&bits, &exact, sizeof bits);
    if (layout.scale == formats::PackedScale::e8m0) {
        const uint32_t code = (bits + 0x7fffffu) >> 23;
        at[tile] = static_cast<uint8_t>(code < 0xfe ? code : 0xfe);
        bits = uint32_t{at[tile]} << 23;
    } else if (layout.scale == formats::PackedScale::bf16) {
        const uint16_t code = static_cast<uint16_t>((bits + 0xffffu) >> 16);
        __builtin_memcpy(at + tile * 2, &code, sizeof code);
        bits = uint32_t{code} << 16;
    } else {
        __builtin_memcpy(at + tile * 4, &bits, sizeof bits);
    }
    float scale;
    __builtin_memcpy(&scale, &bits, sizeof scale);
    return scale;
}

inline vf clamp(vf x, float limit) {
    x = select(x > limit, splat(limit), x);
    return select(x < -limit, splat(-limit), x);
}

inline vb narrow_finite(E4M3, vf x) { return narrow(E4M3{}, x); }

// Numbers beyond +-`limit` become it. False, and the row is as before, if a number is not finite.
template <class Code, class From>
inline bool pack_row(const formats::PackedRowLayout& layout, const typename From::Element* from, float full,
                     float limit, uint8_t* row) {
    uint32_t sizes[formats::kMaxPackedTiles];
    uint32_t largest = largest_bits<From>(from + layout.scaled, formats::kPackedRope);
    for (int d = 0, tile = 0; d < layout.scaled; d += layout.tile, tile++) {
        sizes[tile] = largest_bits<From>(from + d, layout.tile);
        largest = largest < sizes[tile] ? sizes[tile] : largest;
    }
    if (largest >= 0x7f800000u) return false;
    for (int d = 0, tile = 0; d < layout.scaled; d += layout.tile, tile++) {
        float size;
        __builtin_memcpy(&size, &sizes[tile], sizeof size);
        const float scale = store_packed_scale(layout, size < limit ? size : limit, full, row, tile);
        const auto pack = [&](auto quotient) {
            for (int c = d; c < d + layout.tile; c += kLanes) {
                store(row + layout.codes + c, narrow_finite(Code{}, quotient(load_wide<From>(from + c))));
            }
        };
        if (size > limit) {
            pack([&](vf x) { return clamp(x, limit) / scale; });
        } else if (layout.scale == formats::PackedScale::e8m0) {
            pack([factor = 1.0f / scale](vf x) { return x * factor; });  // exact, and cheaper than a division
        } else {
            pack([scale](vf x) { return x / scale; });
        }
    }
    const typename From::Element* rope = from + layout.scaled;
    if constexpr (std::is_same_v<From, BF16>) {
        __builtin_memcpy(row + layout.rope, rope, sizeof(uint16_t) * formats::kPackedRope);
    } else {
        for (int c = 0; c < formats::kPackedRope; c += kLanes) {
            store(row + layout.rope + c * 2, narrow(BF16{}, clamp(load_wide<From>(rope + c), 0x1.fep127f)));
        }
    }
    __builtin_memset(row + layout.used, 0, static_cast<size_t>(layout.bytes - layout.used));
    return true;
}

}  // namespace
}  // namespace acl_attn::engine
