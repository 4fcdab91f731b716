// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Values that the plain product of probabilities and values cannot take:
//   infinite or NaN: 0 * NaN would leak a hidden key into the row;
//   huge bf16 or fp32 (2^104 and more): sums of them overflow before the division by the softmax's sum;
//   tiny bf16 (below 2^-100) where the product runs on bf16 pairs: that instruction takes and makes no subnormals.
// Keys that hold one are left out of the product (their row becomes zeros) and added afterwards, exactly for the rows
// that see them, in key order. Rows that see none have the same bits as if the key held ordinary numbers.
#pragma once

#include <type_traits>

#include "engine/rows-inl.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

enum : uint8_t { kOrdinary = 0, kTiny = 1, kHuge = 2 };  // infinite and NaN count as huge

constexpr float kHugeHeadroom = 0x1p-32f;  // on accumulators of rows that see a huge value

constexpr uint16_t kHugeBf16 = (127 + 104) << 7;
constexpr uint16_t kTinyBf16 = (127 - 100) << 7;

inline vi is_non_finite(vf x) { return (as_int(x) & 0x7f800000) == 0x7f800000; }

// Whether finite values may be huge.
template <class T>
constexpr bool kHasHuge = T::kExponent != F16::kExponent;

template <class T>
constexpr auto kHugeCode = T::kExponent;
template <>
inline constexpr uint16_t kHugeCode<BF16> = kHugeBf16;
template <>
inline constexpr uint32_t kHugeCode<F32> = uint32_t{kHugeBf16} << 16;

// The largest magnitude code seen, and the smallest but 0, less 1.
template <class V>
struct Extremes {
    using Code = std::remove_reference_t<decltype(V{}[0])>;
    V top = {}, bottom = ~V{};
    void add(V codes) {
        const V magnitude = codes & static_cast<Code>(static_cast<Code>(~Code{0}) >> 1);
        top = magnitude > top ? magnitude : top;
        const V below = magnitude - (V{} + 1);  // zeros wrap around to the largest number
        bottom = below < bottom ? below : bottom;
    }
};

template <class T, bool kTinyMatters, class V>
inline uint8_t classify(const Extremes<V>& seen) {
    using Code = typename Extremes<V>::Code;
    Code top = 0, bottom = static_cast<Code>(~Code{0});
    for (size_t i = 0; i < sizeof(V) / sizeof(Code); i++) {
        top = seen.top[i] > top ? seen.top[i] : top;
        bottom = seen.bottom[i] < bottom ? seen.bottom[i] : bottom;
    }
    if (top >= kHugeCode<T>) return kHuge;
    const bool has_tiny = kTinyMatters && T::kExponent == BF16::kExponent && bottom < kTinyBf16 - 1;
    return has_tiny ? kTiny : kOrdinary;
}

// The class of a row of values: the larger of its elements' classes.
template <class T, bool kTinyMatters>
inline uint8_t classify_row(const void* row, int dim) {
    using Codes = typename T::Codes;
    Extremes<Codes> seen;
    for (int d = 0; d < dim; d += kLanes) seen.add(load_part<Codes>(elements<T>(row) + d, dim - d));
    return classify<T, kTinyMatters>(seen);
}

template <class T, bool kTinyMatters>
inline bool any_exceptional(const void* const* rows, int begin, int end, int dim) {
    using Codes = typename T::Codes;
    using WideCodes = typename T::WideCodes;
    constexpr int kWide = static_cast<int>(sizeof(WideCodes) / sizeof(typename T::Element));
    const int whole = round_down(dim, kWide);
    Extremes<WideCodes> wide;
    Extremes<Codes> rest;
    for (int k = begin; k < end; k++) {
        const typename T::Element* row = elements<T>(rows[k]);
        for (int d = 0; d < whole; d += kWide) wide.add(load<WideCodes>(row + d));
        for (int d = whole; d < dim; d += kLanes) rest.add(load_part<Codes>(row + d, dim - d));
    }
    return classify<T, kTinyMatters>(wide) != kOrdinary || classify<T, kTinyMatters>(rest) != kOrdinary;
}

// Lets exceptional rows of [begin, end) point to zeros. True if there is any: then `classes` and `original` (the true
// addresses) are filled.
template <class T, bool kTinyMatters>
inline bool set_aside(const void** rows, int begin, int end, int dim, const void* zeros, uint8_t* classes,
                      const void** original) {
    if (!any_exceptional<T, kTinyMatters>(rows, begin, end, dim)) return false;
    for (int k = begin; k < end; k++) {
        classes[k] = classify_row<T, kTinyMatters>(rows[k], dim);
        original[k] = rows[k];
        if (classes[k] != kOrdinary) rows[k] = zeros;
    }
    return true;
}

// Whether a row of codes holds an infinity or NaN.
template <class T>
inline bool has_non_finite(const uint8_t* row, int dim) {
    if constexpr (!std::is_same_v<T, E4M3> && !std::is_same_v<T, HiFloat8>) return false;
    vb found = {};
    for (int d = 0; d < dim; d += kLanes) {
        const vb code = load_part<vb>(row + d, dim - d), magnitude = code & uint8_t{0x7f};
        if constexpr (std::is_same_v<T, E4M3>) {
            found |= reinterpret_cast<vb>(magnitude == uint8_t{0x7f});
        } else {
            found |= reinterpret_cast<vb>((magnitude == formats::kInfinityHiFloat8) | (code == formats::kNanHiFloat8));
        }
    }
    bool any = false;
    for (int i = 0; i < kLanes; i++) any |= found[i] != 0;
    return any;
}

// The same as set_aside for codes, whose scales for each token, if there are any, become 0 as well. All that are
// exceptional count as huge.
template <class T>
inline bool set_codes_aside(const void** rows, int count, int dim, const void* zeros, float* scales, uint8_t* classes) {
    constexpr float kHugeScale = 0x1p80f;
    bool any = false;
    for (int k = 0; k < count; k++) {
        const bool is_huge = scales != nullptr && !(__builtin_fabsf(scales[k]) < kHugeScale);
        const bool is_exceptional = is_huge || has_non_finite<T>(static_cast<const uint8_t*>(rows[k]), dim);
        classes[k] = is_exceptional ? kHuge : kOrdinary;
        if (!is_exceptional) continue;
        any = true;
        rows[k] = zeros;
        if (scales != nullptr) scales[k] = 0.0f;
    }
    return any;
}

// Whether a row sees a huge value among keys first_key + [begin, end).
inline bool sees_huge(const RowBlock& block, int64_t row, Interval seen, int64_t first_key, int begin, int end,
                      const uint8_t* classes) {
    for (int k = begin; k < end; k++) {
        const int64_t key = first_key + k;
        if (classes[k] == kHuge && key >= seen.begin && key < seen.end && !is_hidden(block, row, key)) return true;
    }
    return false;
}

// out[d] += probability(k) * value of key k, for the exceptional keys that the row sees.
template <class T, class Probability>
inline void add_set_aside(const RowBlock& block, int64_t row, Interval seen, int64_t first_key, int begin, int end,
                          const uint8_t* classes, const void* const* original, Probability probability, float* out) {
    for (int k = begin; k < end; k++) {
        const int64_t key = first_key + k;
        if (classes[k] == kOrdinary || key < seen.begin || key >= seen.end || is_hidden(block, row, key)) continue;
        const vf p = splat(probability(k));
        for (int d = 0; d < block.dim_v; d += kLanes) {
            const vf value = load_wide_part<T>(elements<T>(original[k]) + d, block.dim_v - d);
            store(out + d, fma(p, value, load<vf>(out + d)));
        }
    }
}

}  // namespace
}  // namespace acl_attn::engine
