// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The formats that products take, a vector at a time; the 16-bit ones with the same mappings as formats/half.h.
#pragma once

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

struct F16 {
    using Element = uint16_t;
    using Codes = vh;      // kLanes bit patterns
    using WideCodes = vw;  // a whole register of them
    static constexpr uint16_t kExponent = 0x7c00;
};
struct BF16 {
    using Element = uint16_t;
    using Codes = vh;
    using WideCodes = vw;
    static constexpr uint16_t kExponent = 0x7f80;
};
// Numbers that are wide already: dequantised keys and values.
struct F32 {
    using Element = float;
    using Codes = vu;
    using WideCodes = vu;
    static constexpr uint32_t kExponent = 0x7f800000;
};

inline vf widen(BF16, vh v) { return reinterpret_cast<vf>(extend(v) << 16); }

#if defined(__AVX512BF16__)
// To bf16 where subnormals may become 0.
inline vh narrow_normal(vf v) { return reinterpret_cast<vh>(_mm512_cvtneps_pbh(v)); }
#endif

inline vh narrow(BF16, vf v) {
#if defined(__AVX512BF16__)
    constexpr int kSubnormal = 0x20;  // as VFPCLASSPS counts
    if (_mm512_fpclass_ps_mask(v, kSubnormal) == 0) return narrow_normal(v);
#endif
    const vu bits = reinterpret_cast<vu>(v);
    const vu rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const vu quiet = (bits >> 16) | 0x40u;
    return truncate((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

#if !defined(__AVX512BF16__)
inline vh narrow_normal(vf v) { return narrow(BF16{}, v); }
#endif

#if defined(__AVX512F__)
inline vf widen(F16, vh v) { return _mm512_cvtph_ps(reinterpret_cast<__m256i>(v)); }
inline vh narrow(F16, vf v) {
    return reinterpret_cast<vh>(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(__AVX2__) && defined(__F16C__)
inline vf widen(F16, vh v) { return _mm256_cvtph_ps(reinterpret_cast<__m128i>(v)); }
inline vh narrow(F16, vf v) {
    return reinterpret_cast<vh>(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(__aarch64__)
inline vf widen(F16, vh v) { return vcvt_f32_f16(reinterpret_cast<float16x4_t>(v)); }
inline vh narrow(F16, vf v) { return reinterpret_cast<vh>(vcvt_f16_f32(v)); }
#else
inline vf widen(F16, vh v) {
    const vu code = extend(v);
    const vu sign = (code & 0x8000u) << 16;
    const vu rest = code & 0x7fffu;
    const vf normal = reinterpret_cast<vf>((rest << 13) + (112u << 23));
    const vf subnormal = __builtin_convertvector(reinterpret_cast<vi>(rest), vf) * 0x1p-24f;
    vu bits = rest < 0x400u ? reinterpret_cast<vu>(subnormal) : reinterpret_cast<vu>(normal);
    bits |= reinterpret_cast<vu>(rest >= 0x7c00u) & 0x7f800000u;
    bits |= reinterpret_cast<vu>(rest > 0x7c00u) & 0x00400000u;
    return reinterpret_cast<vf>(bits | sign);
}
inline vh narrow(F16, vf v) {
    const vu bits = reinterpret_cast<vu>(v);
    const vu sign = (bits >> 16) & 0x8000u;
    const vu magnitude = bits & 0x7fffffffu;
    const vu normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    // The sum's unit in the last place is 2^-24, that of the subnormal halves: the adder rounds.
    const vu subnormal = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) + 0.5f) - 0x3f000000u;
    vu code = magnitude < 0x38800000u ? subnormal : normal;
    code = magnitude >= 0x477ff000u ? vu{} + 0x7c00u : code;
    code = magnitude > 0x7f800000u ? (((magnitude >> 13) & 0x3ffu) | 0x7e00u) : code;
    return truncate(code | sign);
}
#endif

// The lower or the upper 16 bits of every 32-bit lane, as numbers.
inline vf widen_low(BF16, vf pairs) { return reinterpret_cast<vf>(reinterpret_cast<vu>(pairs) << 16); }
inline vf widen_high(BF16, vf pairs) { return reinterpret_cast<vf>(reinterpret_cast<vu>(pairs) & 0xffff0000u); }
inline vf widen_low(F16, vf pairs) {
    return widen(F16{}, truncate(reinterpret_cast<vu>(pairs)));
}
inline vf widen_high(F16, vf pairs) { return widen(F16{}, truncate(reinterpret_cast<vu>(pairs) >> 16)); }

inline vf widen(F32, vf v) { return v; }

template <class T>
inline vf load_wide(const typename T::Element* p) {
    if constexpr (sizeof *p == sizeof(float)) {
        return load<vf>(p);
    } else {
        return widen(T{}, load<vh>(p));
    }
}
template <class T>
inline vf load_wide_part(const typename T::Element* p, int n) {
    if constexpr (sizeof *p == sizeof(float)) {
        return load_part<vf>(p, n);
    } else {
        return widen(T{}, load_part<vh>(p, n));
    }
}
template <class T>
inline const typename T::Element* elements(const void* row) {
    return static_cast<const typename T::Element*>(row);
}

template <class T>
inline void store_narrow_part(uint16_t* p, vf v, int n) {
    store_part(p, narrow(T{}, v), n);
}

}  // namespace
}  // namespace acl_attn::engine
