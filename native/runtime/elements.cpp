// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements of tensors: their sizes, and the vendor's binary16 conversions.
#include "runtime/elements.h"

#include <cmath>
#include <cstring>

namespace acl_attn {

int element_bits(aclDataType dtype) noexcept {
    switch (dtype) {
        case ACL_BOOL:
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0: return 8;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 16;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32: return 32;
        case ACL_DOUBLE:
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_COMPLEX64: return 64;
        case ACL_COMPLEX128: return 128;
        case ACL_UINT1: return 1;
        case ACL_INT4:
        case ACL_FLOAT4_E2M1:
        case ACL_FLOAT4_E1M2: return 4;
        case ACL_FLOAT6_E3M2:
        case ACL_FLOAT6_E2M3: return 6;
        case ACL_STRING:
        case ACL_DT_UNDEFINED: break;
    }
    return 0;
}

const char* element_name(aclDataType dtype) noexcept {
    switch (dtype) {
        case ACL_DT_UNDEFINED: return "DT_UNDEFINED";
        case ACL_FLOAT: return "FLOAT";
        case ACL_FLOAT16: return "FLOAT16";
        case ACL_INT8: return "INT8";
        case ACL_INT32: return "INT32";
        case ACL_UINT8: return "UINT8";
        case ACL_INT16: return "INT16";
        case ACL_UINT16: return "UINT16";
        case ACL_UINT32: return "UINT32";
        case ACL_INT64: return "INT64";
        case ACL_UINT64: return "UINT64";
        case ACL_DOUBLE: return "DOUBLE";
        case ACL_BOOL: return "BOOL";
        case ACL_STRING: return "STRING";
        case ACL_COMPLEX64: return "COMPLEX64";
        case ACL_COMPLEX128: return "COMPLEX128";
        case ACL_BF16: return "BF16";
        case ACL_INT4: return "INT4";
        case ACL_UINT1: return "UINT1";
        case ACL_COMPLEX32: return "COMPLEX32";
        case ACL_HIFLOAT8: return "HIFLOAT8";
        case ACL_FLOAT8_E5M2: return "FLOAT8_E5M2";
        case ACL_FLOAT8_E4M3FN: return "FLOAT8_E4M3FN";
        case ACL_FLOAT8_E8M0: return "FLOAT8_E8M0";
        case ACL_FLOAT6_E3M2: return "FLOAT6_E3M2";
        case ACL_FLOAT6_E2M3: return "FLOAT6_E2M3";
        case ACL_FLOAT4_E2M1: return "FLOAT4_E2M1";
        case ACL_FLOAT4_E1M2: return "FLOAT4_E1M2";
    }
    return "an unknown type";
}

}  // namespace acl_attn

extern "C" {

size_t aclDataTypeSize(aclDataType dataType) {
    const int bits = acl_attn::element_bits(dataType);
    return bits % 8 == 0 ? static_cast<size_t>(bits / 8) : 0;
}

float aclFloat16ToFloat(aclFloat16 value) {
    const int exponent = value >> 10 & 0x1f;
    const int fraction = value & 0x3ff;
    // Exponent 31 is one more binade, not infinity and NaN.
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
    return (value & 0x8000) != 0 ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
    constexpr uint16_t kLargest = 0x7bff;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const float magnitude = std::fabs(value);
    if (!(magnitude < 65520.0f)) return sign | kLargest;  // half-way to the next binade and above, infinity, NaN
    constexpr float kSmallestNormal = 1.0f / 16384;
    int exponent = -13;  // magnitude < 2^exponent
    if (magnitude >= kSmallestNormal) std::frexp(magnitude, &exponent);
    // In units of the last place; a carry out of the fraction lands in the exponent, as it should.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
    return static_cast<uint16_t>(sign | (units + ((exponent + 13) << 10)));
}

}  // extern "C"
