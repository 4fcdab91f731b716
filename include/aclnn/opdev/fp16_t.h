/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * op::fp16_t, the half-precision number that the vendor's sample programs read results into. C++ only, header only; a C
 * program that includes it gets nothing.
 */
#ifndef ACL_ATTN_ACLNN_OPDEV_FP16_T_H_
#define ACL_ATTN_ACLNN_OPDEV_FP16_T_H_

#ifdef __cplusplus

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace op {

/* The bits of an IEEE binary16. Converts from any arithmetic type (rounding to nearest, ties to even; too large becomes
 * infinite) and to float, exactly. Two of them can be copied as bytes to and from an ACL_FLOAT16 tensor. */
struct fp16_t {
    uint16_t val = 0;

    fp16_t() = default;
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    fp16_t(T value) : val(encode(static_cast<float>(value))) {}

    operator float() const { return decode(val); }
    float toFloat() const { return decode(val); }

private:
    static uint16_t encode(float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
        const uint32_t magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
        if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
        if (magnitude < 0x38800000u) {
            /* Subnormal: adding 0.5 makes the adder round to multiples of 2^-24. */
            float shifted;
            std::memcpy(&shifted, &magnitude, sizeof shifted);
            shifted += 0.5f;
            uint32_t code;
            std::memcpy(&code, &shifted, sizeof code);
            return static_cast<uint16_t>(sign | (code - 0x3f000000u));
        }
        const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
        return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
    }

    static float decode(uint16_t code) {
        const uint32_t sign = static_cast<uint32_t>(code & 0x8000u) << 16;
        const uint32_t exponent = (code >> 10) & 31u;
        const uint32_t mantissa = code & 0x3ffu;
        uint32_t bits;
        if (exponent == 31) {
            bits = sign | 0x7f800000u | (mantissa << 13);
        } else if (exponent != 0) {
            bits = sign | ((exponent + 112u) << 23) | (mantissa << 13);
        } else {
            const float magnitude = static_cast<float>(mantissa) * (1.0f / 16777216.0f);
            std::memcpy(&bits, &magnitude, sizeof bits);
            bits |= sign;
        }
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
};

static_assert(sizeof(fp16_t) == 2, "as large as an ACL_FLOAT16 element");

}  // namespace op

#endif /* __cplusplus */

#endif /* ACL_ATTN_ACLNN_OPDEV_FP16_T_H_ */
