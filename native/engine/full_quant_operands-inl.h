// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the products of quantised numbers are made of. All are exact: an i8 product's sums fit int32 and, for the tiles
// and dims that exist, the 24 bits of fp32; 8-bit floats and their products fit bf16 and fp32.
//
// An arithmetic has an Element, the panels' Row format (half-inl.h) and two register-block operands (gemm-inl.h): for
// queries times keys, and for weights times values.
#pragma once

#include "engine/pack-inl.h"
#include "engine/staging-inl.h"

namespace acl_attn::engine {
namespace {

struct Fp32Arithmetic {
    using Element = float;
    using Row = F32;
    using Scores = Fp32Operand;
    using Values = Fp32Operand;
    static constexpr bool kIsInteger = false;
};

#if defined(__AVX512BF16__)
struct Bf16Arithmetic {
    using Element = uint16_t;
    using Row = BF16;
    using Scores = Bf16PairOperand;
    using Values = Bf16PairOperand;
    static constexpr bool kIsInteger = false;
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
    using Values = Int16Operand;
    static constexpr bool kIsInteger = true;
};
#endif

#if defined(__AVX512VNNI__)
// The instruction multiplies unsigned by signed bytes. Keys become unsigned by adding 128, which a row's start undoes;
// weights are.
struct Int8Scores {
    static constexpr int kDepth = 4;
    static vf madd(vf acc, vf a, vf b) {
        return reinterpret_cast<vf>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(b),
                                                        reinterpret_cast<__m512i>(a)));
    }
};
struct Int8Values {
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
    static constexpr bool kIsInteger = true;
};
using IntegerArithmetic = Int8Arithmetic;
#elif defined(__AVX2__)
using IntegerArithmetic = Int16Arithmetic;
#else
using IntegerArithmetic = Fp32Arithmetic;
#endif

constexpr int kKeyBias = 128;  // of keys as unsigned bytes

template <class A>
constexpr bool kIsBytes = sizeof(typename A::Element) == 1;
template <class A>
constexpr int kUnit = 4 / static_cast<int>(sizeof(typename A::Element));  // elements of a 32-bit unit

template <class A>
inline vf sums_as_float(vf v) {
    if constexpr (A::kIsInteger) {
        return __builtin_convertvector(as_int(v), vf);
    } else {
        return v;
    }
}

// Stores numbers that the element represents exactly.
inline void store_exact(float* to, vf x) { store(to, x); }
inline void store_exact(uint16_t* to, vf x) { store(to, truncate(reinterpret_cast<vu>(x) >> 16)); }
inline void store_exact(int16_t* to, vf x) {
    store(to, truncate(reinterpret_cast<vu>(__builtin_convertvector(x, vi))));
}
inline void store_exact(int8_t* to, vf x) { store(to, to_bytes(reinterpret_cast<vu>(__builtin_convertvector(x, vi)))); }
inline float load_exact(const float* p) { return *p; }
inline float load_exact(const uint16_t* p) { return widen_part(Dtype::bf16, p, 1)[0]; }

// n numbers from their codes; `to` has room for whole vectors.
template <class T>
inline void convert_codes(const uint8_t* p, const float* scales, uint16_t* to, int n) {
    for (int i = 0; i < n; i += kLanes) {
        vf x = load_wide_part<T>(p + i, n - i);
        if (scales != nullptr) x *= load<vf>(scales + i);
        store_exact(to + i, x);
    }
}

// `scales`, where not null: what each number is multiplied by; powers of two.
inline void convert(Dtype dtype, const char* p, const float* scales, float* to, int n) {
    widen_stored(dtype, p, to, n);
    for (int i = 0; scales != nullptr && i < n; i += kLanes) store(to + i, load<vf>(to + i) * load<vf>(scales + i));
}
inline void convert(Dtype dtype, const char* p, const float* scales, uint16_t* to, int n) {
    const uint8_t* codes = reinterpret_cast<const uint8_t*>(p);
    if (dtype == Dtype::hif8) return convert_codes<HiFloat8>(codes, scales, to, n);
    convert_codes<E4M3>(codes, scales, to, n);
}
inline void convert(Dtype, const char* p, const float*, int16_t* to, int n) {
    const int8_t* codes = reinterpret_cast<const int8_t*>(p);
    for (int i = 0; i < n; i++) to[i] = codes[i];
}
inline void convert(Dtype, const char* p, const float*, int8_t* to, int n) {
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

inline void pack_key_bytes(const void* const* rows, int dim, float* panel, int column) {
    const uint16_t* keys[kLanes];
    for (int j = 0; j < kLanes; j++) keys[j] = static_cast<const uint16_t*>(rows[j]);
    const vu bias = vu{} + 0x01010101u * kKeyBias;
    const int halves = (dim + 1) / 2;
    for (int d = 0; d < halves; d += kPiece) {
        vf units[4];
        transpose_piece(keys, d, halves, units);
        for (int i = 0; i < 4 && d + 2 * i < halves; i++) {
            store(panel + (d / 2 + i) * kNr + column, reinterpret_cast<vu>(units[i]) ^ bias);
        }
    }
}

inline void pack_value_bytes(const void* const* values, int begin, int end, int dim, int panel_size, float* panels) {
    for (int k = begin; k < end; k += 4) {
        float* to = panels + static_cast<ptrdiff_t>(k / 4) * kNr;
        for (int c0 = 0; c0 < dim; c0 += kNr, to += panel_size) {
            const int stop = dim - c0 < kNr ? dim - c0 : kNr;
            for (int c = 0; c < stop; c += kLanes) {
                vu unit = {};
                for (int i = 0; i < 4; i++) {
                    const uint8_t* from = static_cast<const uint8_t*>(values[k + i]) + c0 + c;
                    unit |= widen_bits(load_part<vb>(from, stop - c)) << static_cast<uint32_t>(8 * i);
                }
                store(to + c, unit);
            }
        }
    }
}

template <class A>
inline void pack_key_panel(const void* const* rows, int dim, float* panel, int column) {
    if constexpr (kIsBytes<A>) {
        pack_key_bytes(rows, dim, panel, column);
    } else {
        pack_keys<typename A::Row, typename A::Scores>(rows, dim, panel, column);
    }
}

template <class A>
inline void pack_value_panels(const void* const* values, int begin, int end, int dim, int panel_size, float* panels) {
    if constexpr (kIsBytes<A>) {
        pack_value_bytes(values, begin, end, dim, panel_size, panels);
    } else {
        pack_values<typename A::Values, typename A::Row>(values, begin, end, dim, panel_size, panels);
    }
}

}  // namespace
}  // namespace acl_attn::engine
