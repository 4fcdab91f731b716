// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One number from one element type to another, and which conversions a chip has: shared by Cast in memory form and in
// registers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "ascendc/tensor.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

constexpr uint32_t round_bit(RoundMode mode) {
    return mode == RoundMode::UNKNOWN ? 0 : 1u << static_cast<uint32_t>(mode);
}

constexpr uint32_t kRoundNone = round_bit(RoundMode::CAST_NONE);
constexpr uint32_t kRoundFive = round_bit(RoundMode::CAST_RINT) | round_bit(RoundMode::CAST_FLOOR) |
                                round_bit(RoundMode::CAST_CEIL) | round_bit(RoundMode::CAST_ROUND) |
                                round_bit(RoundMode::CAST_TRUNC);
constexpr uint32_t kRoundOdd = round_bit(RoundMode::CAST_ODD);

// The roundings that Cast takes for a pair, as bits; 0: there is no such conversion. Of the vendor's table, what the
// notes list; fewer than a chip may have, never more.
template <class D, class S>
constexpr uint32_t cast_roundings() {
    constexpr bool to_half = std::is_same_v<D, half>;
    constexpr bool to_float = std::is_same_v<D, float>;
    constexpr bool to_bf16 = std::is_same_v<D, bfloat16_t>;
    if constexpr (std::is_same_v<S, int4b_t>) {
        if (kIs3510 && (to_bf16 || std::is_same_v<D, int16_t>)) return kRoundNone;
        return to_half ? kRoundNone : 0;
    } else if constexpr (std::is_same_v<S, int8_t>) {
        if (kIs3510 && is_any_of<D, int16_t, int32_t>) return kRoundNone;
        return to_half ? kRoundNone : 0;
    } else if constexpr (std::is_same_v<S, uint8_t>) {
        if (kIs3510 && is_any_of<D, uint16_t, uint32_t>) return kRoundNone;
        return to_half ? kRoundNone : 0;
    } else if constexpr (std::is_same_v<S, half>) {
        if (to_float) return kRoundNone;
        if (is_any_of<D, int4b_t, int8_t, uint8_t>) return kRoundFive | kRoundNone;
        if (is_any_of<D, int16_t, int32_t>) return kRoundFive;
#if __NPU_ARCH__ == 3510
        if (to_bf16) return kRoundFive;
        if (std::is_same_v<D, hifloat8_t>) return round_bit(RoundMode::CAST_ROUND) | round_bit(RoundMode::CAST_HYBRID);
#endif
        return 0;
    } else if constexpr (std::is_same_v<S, bfloat16_t>) {
        if (to_float) return kRoundNone;
        if (std::is_same_v<D, int32_t>) return kRoundFive;
#if __NPU_ARCH__ == 3510
        if (to_half) return kRoundFive;
        if (std::is_same_v<D, fp4x2_e2m1_t>) return kRoundFive;
#endif
        return 0;
    } else if constexpr (std::is_same_v<S, float>) {
        if (to_half) return kRoundFive | kRoundOdd | kRoundNone;
        if (to_bf16 || to_float || is_any_of<D, int16_t, int32_t, int64_t>) return kRoundFive;
#if __NPU_ARCH__ == 3510
        if (is_any_of<D, fp8_e4m3fn_t, fp8_e5m2_t>) return round_bit(RoundMode::CAST_RINT);
        if (std::is_same_v<D, hifloat8_t>) return round_bit(RoundMode::CAST_ROUND) | round_bit(RoundMode::CAST_HYBRID);
#endif
        return 0;
    } else if constexpr (std::is_same_v<S, int16_t>) {
        return to_half ? kRoundFive | kRoundNone : to_float ? kRoundNone : 0;
    } else if constexpr (std::is_same_v<S, int32_t>) {
        if (to_float) return kIs3510 ? kRoundFive : kRoundFive | kRoundNone;
        return is_any_of<D, int16_t, int64_t> ? kRoundNone : 0;
    } else if constexpr (std::is_same_v<S, int64_t>) {
        return std::is_same_v<D, int32_t> ? kRoundNone : to_float ? kRoundFive : 0;
    } else {
#if __NPU_ARCH__ == 3510
        if (is_any_of<S, fp8_e4m3fn_t, fp8_e5m2_t>) return to_float ? kRoundNone : 0;
        if (std::is_same_v<S, hifloat8_t>) return to_half || to_float ? kRoundNone : 0;
        if (std::is_same_v<S, fp4x2_e2m1_t>) return to_bf16 ? kRoundNone : 0;
#endif
        return 0;
    }
}

template <class D, class S>
inline bool takes_rounding(RoundMode mode) {
    return (cast_roundings<D, S>() & round_bit(mode)) != 0;
}

// To an integral value. NONE rounds to nearest even where rounding is needed.
inline double round_integral(double value, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(value);
        case RoundMode::CAST_CEIL: return std::ceil(value);
        case RoundMode::CAST_ROUND: return std::round(value);
        case RoundMode::CAST_TRUNC: return std::trunc(value);
        default: return std::nearbyint(value);
    }
}

// To a number with `mantissa` bits behind the leading one; below 2^smallest to a multiple of the last unit there.
inline float round_to_bits(float value, RoundMode mode, int mantissa, int smallest) {
    if (!std::isfinite(value) || value == 0.0f) return value;
    const int exponent = std::max(std::ilogb(value), smallest);
    const double step = std::ldexp(1.0, exponent - mantissa);
    const double scaled = value / step;
    if (mode == RoundMode::CAST_ODD) {
        const double down = std::trunc(scaled);
        const bool even = std::fmod(down, 2.0) == 0.0;
        return static_cast<float>((down != scaled && even ? down + (scaled > 0 ? 1 : -1) : down) * step);
    }
    return static_cast<float>(round_integral(scaled, mode) * step);
}

template <class D>
inline D saturate(double value) {
    constexpr double kLow = static_cast<double>(std::numeric_limits<D>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<D>::max());
    if (value != value) return 0;
    return value <= kLow    ? std::numeric_limits<D>::min()
           : value >= kHigh ? std::numeric_limits<D>::max()
                            : static_cast<D>(value);
}

// To nearest, ties to even, saturating; NaN stays NaN. The format is the upper half of fp16.
inline uint8_t encode_e5m2(float value) {
    const uint16_t code = acl_attn::formats::encode_f16(round_to_bits(value, RoundMode::CAST_RINT, 2, -14));
    const bool over = (code & 0x7fff) == 0x7c00;
    return static_cast<uint8_t>(over ? (code >> 8 & 0x80) | 0x7b : code >> 8);
}

template <class D, class S>
inline D convert(S element, RoundMode mode) {
    const auto value = widen(element);
    const bool exact = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
    if constexpr (std::is_same_v<D, float>) {
        return std::is_same_v<S, float> ? static_cast<float>(round_integral(value, mode)) : static_cast<float>(value);
    } else if constexpr (is_any_of<D, half, bfloat16_t>) {
        const float wide = static_cast<float>(value);
        return narrow<D>(
            exact ? wide
                  : round_to_bits(wide, mode, std::is_same_v<D, half> ? 10 : 7, std::is_same_v<D, half> ? -14 : -126));
    } else if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
        return static_cast<D>(value);
    } else if constexpr (std::is_integral_v<D>) {
        return saturate<D>(round_integral(value, mode));
    } else {
        D result{};
#if __NPU_ARCH__ == 3510
        if constexpr (std::is_same_v<D, fp8_e4m3fn_t>) result.code = acl_attn::formats::encode_e4m3(value);
        if constexpr (std::is_same_v<D, fp8_e5m2_t>) result.code = encode_e5m2(value);
        if constexpr (std::is_same_v<D, hifloat8_t>) {
            result.code = acl_attn::formats::encode_hifloat8(value, mode == RoundMode::CAST_HYBRID
                                                                        ? acl_attn::formats::HiFloat8Rounding::hybrid
                                                                        : acl_attn::formats::HiFloat8Rounding::nearest);
        }
#endif
        return result;
    }
}

// Element `i`, of which one side or the other is half a byte.
template <class D, class S>
inline void cast_packed(uint8_t* dst, const uint8_t* src, uint64_t i, RoundMode mode) {
    using namespace acl_attn::formats;
    if constexpr (is_packed4<S>) {
        const uint8_t code = nibble_at(src, static_cast<int64_t>(i));
        const float value = std::is_same_v<S, int4b_t> ? static_cast<float>(decode_i4(code)) : decode_e2m1(code);
        D result;
        if constexpr (std::is_integral_v<D>) result = static_cast<D>(value);
        else result = narrow<D>(value);
        std::memcpy(dst + i * sizeof(D), &result, sizeof result);
    } else {
        S element;
        std::memcpy(&element, src + i * sizeof(S), sizeof element);
        const float value = static_cast<float>(widen(element));
        const uint8_t code = std::is_same_v<D, int4b_t> ? encode_i4(static_cast<float>(round_integral(value, mode)))
                                                        : encode_e2m1(value);
        set_nibble(dst, static_cast<int64_t>(i), code);
    }
}

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
