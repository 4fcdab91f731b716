// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the products of quantised numbers are made of. All are exact: an i8 product's sums fit int32 and, for the tiles
// and dims that exist, the 24 bits of fp32; 8-bit floats and their products fit bf16 and fp32.
//
// An arithmetic has an Element, the panels' Row format (half-inl.h), two operands (gemm-inl.h), for queries times keys
// and for weights times values, and the arithmetic of Rope channels. A 32-bit unit of weights holds those of keys that
// are kLanes apart, so that units form without shuffles.
#pragma once

#include "engine/amx_products-inl.h"
#include "engine/full_quant_kernels.h"
#include "engine/pack-inl.h"
#include "engine/staging-inl.h"
#include "formats/packed_row-inl.h"

namespace acl_attn::engine {
namespace {

struct Fp32Arithmetic {
    using Element = float;
    using Row = F32;
    using Scores = Fp32Operand;
    using Values = Fp32Operand;
    using Rope = Fp32Arithmetic;
    static constexpr bool kIsInteger = false;
    static constexpr bool kIsBiased = false;
};

template <class Operand>
struct Spread : Operand {
    static constexpr int kPairDistance = kLanes;
};

#if defined(__AVX512BF16__)
struct Bf16Arithmetic {
    using Element = uint16_t;
    using Row = BF16;
    using Scores = Bf16PairOperand;
    using Values = Spread<Bf16PairOperand>;
    using Rope = Bf16Arithmetic;
    static constexpr bool kIsInteger = false;
    static constexpr bool kIsBiased = false;
};
using FloatArithmetic = Bf16Arithmetic;
#else
using FloatArithmetic = Fp32Arithmetic;
#endif

#if defined(__AVX2__)
// Pairs of 16-bit integers; sums are int32 in registers that are called vf.
struct Int16Operand : VectorOperand {
    static constexpr int kDepth = 2;
    static vf madd(vf acc, vf a, vf b) {
#if defined(__AVX512BW__)
        const __m512i pairs = _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
        return reinterpret_cast<vf>(_mm512_add_epi32(reinterpret_cast<__m512i>(acc), pairs));
#else
        const __m256i pairs = _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
        return reinterpret_cast<vf>(_mm256_add_epi32(reinterpret_cast<__m256i>(acc), pairs));
#endif
    }
};
struct Int16Arithmetic {
    using Element = int16_t;
    using Row = BF16;  // which is moved as it is
    using Scores = Int16Operand;
    using Values = Spread<Int16Operand>;
    using Rope = FloatArithmetic;
    static constexpr bool kIsInteger = true;
    static constexpr bool kIsBiased = false;
};
#endif

#if defined(__AVX512VNNI__)
// The instruction multiplies unsigned by signed bytes. Keys become unsigned by adding 128, which a row's start undoes;
// weights are.
struct Int8Scores : VectorOperand {
    static constexpr int kDepth = 4;
    static vf madd(vf acc, vf a, vf b) {
        return reinterpret_cast<vf>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(b),
                                                        reinterpret_cast<__m512i>(a)));
    }
};
struct Int8Values : VectorOperand {
    static constexpr int kDepth = 4;
    static vf madd(vf acc, vf a, vf b) {
        return reinterpret_cast<vf>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(a),
                                                        reinterpret_cast<__m512i>(b)));
    }
};
struct Int8Arithmetic {
    using Element = int8_t;
    using Row = void;
    using Scores = Int8Scores;
    using Values = Int8Values;
    using Rope = FloatArithmetic;
    static constexpr bool kIsInteger = true;
    static constexpr bool kIsBiased = true;
};
using IntegerArithmetic = Int8Arithmetic;
#elif defined(__AVX2__)
using IntegerArithmetic = Int16Arithmetic;
#else
using IntegerArithmetic = Fp32Arithmetic;
#endif

// --- On AMX.

struct AmxBf16Operand : AmxOperand<1> {
    using Product = AmxBf16Product;
};
struct AmxBf16Arithmetic {
    using Element = uint16_t;
    using Row = BF16;
    using Scores = AmxBf16Operand;
    using Values = Spread<AmxBf16Operand>;
    using Rope = AmxBf16Arithmetic;
    static constexpr bool kIsInteger = false;
    static constexpr bool kIsBiased = false;
};

template <class AnyProduct>
struct AmxByteOperand : AmxOperand<1> {
    static constexpr int kDepth = 4;
    static constexpr int kKeys = 4 * kAmxRows;
    using Product = AnyProduct;
};
struct AmxInt8Arithmetic {
    using Element = int8_t;
    using Row = void;
    using Scores = AmxByteOperand<AmxInt8Product>;
    using Values = AmxByteOperand<AmxUnsignedProduct>;
    using Rope = AmxBf16Arithmetic;
    static constexpr bool kIsInteger = true;
    static constexpr bool kIsBiased = false;
};

constexpr int kKeyBias = 128;  // of keys as unsigned bytes

template <class A>
constexpr bool kIsBytes = sizeof(typename A::Element) == 1;
template <class A>
constexpr int kUnit = 4 / static_cast<int>(sizeof(typename A::Element));  // elements of a 32-bit unit
template <class A>
constexpr int kUnitKeys = kUnit<A> * kLanes;  // whose weights are stored together
template <class A>  // products take whole multiples of so many keys
constexpr int kWholeKeys = A::Values::kKeys > kUnitKeys<A> ? A::Values::kKeys : kUnitKeys<A>;
template <class A>  // and of so many channels
constexpr int kWholeChannels =
    A::Scores::kSteps * kUnit<A> > kStagingAlignment ? A::Scores::kSteps * kUnit<A> : kStagingAlignment;
template <class A>
inline int units_of(int channels) { return round_up(channels, kWholeChannels<A>) / kUnit<A>; }
template <class A>
inline int key_steps(int channels) { return round_up(steps_of(channels, kUnit<A>), A::Scores::kSteps); }

template <class A>
inline vf sums_as_float(vf v) {
    if constexpr (A::kIsInteger) {
        // Sums have another type than integers: GCC 12 would move all accumulators to memory and back in each step.
        __asm__("" : "+v"(v));
        return __builtin_convertvector(as_int(v), vf);
    } else {
        return v;
    }
}

// To the nearest integer, ties to even.
inline vu to_integer(vf x) {
#if defined(__AVX512F__)
    return reinterpret_cast<vu>(_mm512_cvtps_epi32(x));
#elif defined(__AVX2__)
    return reinterpret_cast<vu>(_mm256_cvtps_epi32(x));
#else
    return reinterpret_cast<vu>(__builtin_convertvector(x, vi));  // which are integers: kIsInteger is false here
#endif
}

// Of kUnitKeys keys: rounded to integers, or numbers that the elements represent exactly.
template <class A>
inline void store_weights(typename A::Element* to, const vf* w) {
    const auto integer = [&](int i) { return to_integer(w[i]); };
    if constexpr (kUnit<A> == 1) {
        store(to, w[0]);
    } else if constexpr (!A::kIsInteger) {
        store(to, (reinterpret_cast<vu>(w[0]) >> 16) | reinterpret_cast<vu>(w[1]));
    } else if constexpr (kUnit<A> == 2) {
        store(to, integer(0) | integer(1) << 16);
    } else {
        store(to, (integer(0) | integer(1) << 8) | (integer(2) | integer(3) << 8) << 16);
    }
}
inline float load_exact(const float* p) { return *p; }
inline float load_exact(const uint16_t* p) { return widen_part(Dtype::bf16, p, 1)[0]; }

// That of key k.
template <class A>
inline float load_weight(const typename A::Element* weights, int k) {
    const int inside = k % kUnitKeys<A>;
    return load_exact(weights + (k - inside) + inside % kLanes * kUnit<A> + inside / kLanes);
}

#if defined(__AVX512BW__)
// 32 bf16 numbers times powers of two; false, and nothing happens, where a product with an 8-bit float may not be a
// normal number. NaN, infinities and zeros stay.
inline bool scale_exactly(const uint8_t* scales, __m512i& numbers) {
    const __m512i scale = _mm512_cvtepu8_epi16(load<__m256i>(scales));
    const __m512i above = _mm512_sub_epi16(scale, _mm512_set1_epi16(kLeastShift));
    if (_mm512_cmpgt_epu16_mask(above, _mm512_set1_epi16(kLargestShift - kLeastShift)) != 0) return false;
    const __m512i below = _mm512_sub_epi16(_mm512_and_si512(numbers, _mm512_set1_epi16(0x7fff)), _mm512_set1_epi16(1));
    const __mmask32 is_scaled = _mm512_cmplt_epu16_mask(below, _mm512_set1_epi16(BF16::kExponent - 1));
    const __m512i shift = _mm512_sub_epi16(_mm512_slli_epi16(scale, 7), _mm512_set1_epi16(127 << 7));
    numbers = _mm512_mask_add_epi16(numbers, is_scaled, numbers, shift);
    return true;
}
#endif

// n numbers from their codes; `to` has room for whole vectors, `scales` as many codes.
template <class T>
inline void convert_codes(const uint8_t* p, const uint8_t* scales, uint16_t* to, int n) {
    int i = 0;
#if defined(__AVX512BW__)
    const ShiftedCodes<T> unscaled(0);
    for (; i + 32 <= n; i += 32) {
        __m512i numbers = unscaled(_mm512_cvtepu8_epi16(load<__m256i>(p + i)));
        if (scales != nullptr && !scale_exactly(scales + i, numbers)) break;
        store(to + i, numbers);
    }
#endif
    for (; i < n; i += kLanes) {
        vf x = load_wide_part<T>(p + i, n - i);
        if (scales != nullptr) x *= load_wide<E8M0>(scales + i);
        store(to + i, truncate(reinterpret_cast<vu>(x) >> 16));
    }
}

// `scales`, where not null: E8M0 codes of what each number is multiplied by.
inline void convert(Dtype dtype, const char* p, const uint8_t* scales, float* to, int n) {
    widen_stored(dtype, p, to, n);
    for (int i = 0; scales != nullptr && i < n; i += kLanes) {
        store(to + i, load<vf>(to + i) * load_wide<E8M0>(scales + i));
    }
}
inline void convert(Dtype dtype, const char* p, const uint8_t* scales, uint16_t* to, int n) {
    const uint8_t* codes = reinterpret_cast<const uint8_t*>(p);
    if (dtype == Dtype::hif8) return convert_codes<HiFloat8>(codes, scales, to, n);
    convert_codes<E4M3>(codes, scales, to, n);
}
inline void convert(Dtype, const char* p, const uint8_t*, int16_t* to, int n) {
    const int8_t* codes = reinterpret_cast<const int8_t*>(p);
    for (int i = 0; i < n; i++) to[i] = codes[i];
}
inline void convert(Dtype, const char* p, const uint8_t*, int8_t* to, int n) {
    __builtin_memcpy(to, p, static_cast<size_t>(n));
}

// bf16 rope channels.
inline void convert_rope(const uint16_t* from, float* to, int n) {
    for (int i = 0; i < n; i += kLanes) store_part(to + i, widen_part(Dtype::bf16, from + i, n - i), n - i);
}
inline void convert_rope(const uint16_t* from, uint16_t* to, int n) {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof *to);
}

// --- Panels, as pack-inl.h's.

// Rows lie too far apart for the processor to foresee them.
__attribute__((always_inline)) inline void prefetch_row(const void* row, int bytes) {
    for (int i = 0; i < bytes; i += 64) prefetch_to_l1(static_cast<const char*>(row) + i);
}

template <class A>
inline void pack_key_bytes(const void* const* rows, int dim, float* panel, int column) {
    constexpr int kColumns = A::Scores::kColumns;
    const uint16_t* keys[kLanes];
    for (int j = 0; j < kLanes; j++) keys[j] = static_cast<const uint16_t*>(rows[j]);
    const vu bias = vu{} + (A::kIsBiased ? 0x01010101u * kKeyBias : 0u);
    const int halves = (dim + 1) / 2;
    for (int d = 0; d < halves; d += kPiece) {
        vf units[4];
        transpose_piece(keys, d, halves, units);
        for (int i = 0; i < 4 && d + 2 * i < halves; i++) {
            store(panel + (d / 2 + i) * kColumns + column, reinterpret_cast<vu>(units[i]) ^ bias);
        }
    }
    for (int s = steps_of(dim, 4); s < key_steps<A>(dim); s++) store(panel + s * kColumns + column, vf{});
}

template <class A>
inline void pack_value_bytes(const void* const* values, int begin, int end, int dim, int panel_size, float* panels) {
    constexpr int kColumns = A::Values::kColumns;
    for (int k = begin; k < end; k++) {
        if (k / kLanes % 4 != 0) continue;  // a unit's other keys
        for (int i = 0; i < 4 && k + kUnitKeys<A> < end; i++) prefetch_row(values[k + kUnitKeys<A> + i * kLanes], dim);
        float* to = panels + static_cast<ptrdiff_t>(k / kUnitKeys<A> * kLanes + k % kLanes) * kColumns;
        for (int c0 = 0; c0 < dim; c0 += kColumns, to += panel_size) {
            const int stop = dim - c0 < kColumns ? dim - c0 : kColumns;
            for (int c = 0; c < stop; c += kLanes) {
                vu unit = {};
                for (int i = 0; i < 4; i++) {
                    const uint8_t* from = static_cast<const uint8_t*>(values[k + i * kLanes]) + c0 + c;
                    unit |= widen_bits(load_part<vb>(from, stop - c)) << static_cast<uint32_t>(8 * i);
                }
                store(to + c, unit);
            }
        }
    }
}

// kLanes keys' `dim` channels, and zeros up to whole steps.
template <class A>
inline void pack_key_panel(const void* const* rows, int dim, float* panel, int column) {
    if constexpr (kIsBytes<A>) {
        pack_key_bytes<A>(rows, dim, panel, column);
    } else {
        pack_keys<typename A::Row, typename A::Scores>(rows, dim, panel, column, key_steps<A>(dim));
    }
}

template <class A>
inline void pack_value_panels(const void* const* values, int begin, int end, int dim, int panel_size, float* panels) {
    if constexpr (kIsBytes<A>) {
        pack_value_bytes<A>(values, begin, end, dim, panel_size, panels);
    } else {
        pack_values<typename A::Values, typename A::Row>(values, begin, end, dim, panel_size, panels);
    }
}

}  // namespace
}  // namespace acl_attn::engine
