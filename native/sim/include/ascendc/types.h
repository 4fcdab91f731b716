// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The element types of kernels. Each is a code; what the code means stands in formats/.
#pragma once

#include <cstdint>

#include "formats/e8m0.h"
#include "formats/float4.h"
#include "formats/float8.h"
#include "formats/half.h"
#include "formats/hifloat8.h"
#include "formats/int4.h"

// half converts to and from the arithmetic types as a device's does; bfloat16_t only through ToFloat and ToBfloat16.
struct half {
    uint16_t code;
    half() = default;
    half(float value) : code(acl_attn::formats::encode_f16(value)) {}
    half(double value) : half(static_cast<float>(value)) {}
    half(int value) : half(static_cast<float>(value)) {}
    operator float() const { return acl_attn::formats::decode_f16(code); }
};

struct bfloat16_t {
    uint16_t code;
    bfloat16_t() = default;
    // Of a literal 0, as parameter structs are initialised.
    constexpr bfloat16_t(int zero) : code(zero == 0 ? 0 : 0x7fc0) {}
};

#if __NPU_ARCH__ == 3510
struct fp8_e4m3fn_t {
    uint8_t code;
};
struct fp8_e5m2_t {
    uint8_t code;
};
struct hifloat8_t {
    uint8_t code;
};
struct fp8_e8m0_t {
    uint8_t code;
};
struct fp4x2_e2m1_t {  // two elements, the even one in the low half
    uint8_t code;
};
#endif

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {

// Two elements share a byte; sizes and offsets of tensors count elements.
struct int4b_t {
    uint8_t code;
};

inline float ToFloat(const bfloat16_t& value) { return acl_attn::formats::decode_bf16(value.code); }
inline bfloat16_t ToBfloat16(const float& value) {
    bfloat16_t result;
    result.code = acl_attn::formats::encode_bf16(value);
    return result;
}

namespace detail {

#if __NPU_ARCH__ == 3510
template <class T>
constexpr bool is_packed4 = is_any_of<T, int4b_t, fp4x2_e2m1_t>;
#else
template <class T>
constexpr bool is_packed4 = is_any_of<T, int4b_t>;
#endif

template <class T>
constexpr uint32_t bits_of = is_packed4<T> ? 4 : sizeof(T) * 8;

template <class T>
constexpr uint64_t bytes_of(uint64_t elements) {
    return is_packed4<T> ? elements / 2 : elements * sizeof(T);
}

// Elements in 32 bytes: C0 of the cube's formats, a block of the vector unit.
template <class T>
constexpr uint32_t kBlockElements = 256 / bits_of<T>;

inline float decode_e5m2(uint8_t code) { return acl_attn::formats::decode_f16(static_cast<uint16_t>(code << 8)); }

// What a lane computes with: fp32 for every floating-point type, the type itself for integers.
template <class T>
inline auto widen(T value) {
    if constexpr (std::is_same_v<T, half>) return static_cast<float>(value);
    else if constexpr (std::is_same_v<T, bfloat16_t>) return ToFloat(value);
#if __NPU_ARCH__ == 3510
    else if constexpr (std::is_same_v<T, fp8_e4m3fn_t>) return acl_attn::formats::decode_e4m3(value.code);
    else if constexpr (std::is_same_v<T, fp8_e5m2_t>) return decode_e5m2(value.code);
    else if constexpr (std::is_same_v<T, hifloat8_t>) return acl_attn::formats::decode_hifloat8(value.code);
#endif
    else return value;
}

template <class T>
using Wide = decltype(widen(T{}));

template <class T>
inline T narrow(Wide<T> value) {
    if constexpr (std::is_same_v<T, bfloat16_t>) return ToBfloat16(value);
    else if constexpr (std::is_same_v<T, half>) return half(value);
    else return value;
}

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
