// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types. Each converts only where both branches do: half explicitly to and from float, bfloat16_t not at all,
// the 8- and 4-bit ones not at all. None is constexpr, as the CPU-debug classes are not.
#pragma once

#include "language.h"

struct half {
    __aicore__ half() {}
    __aicore__ explicit half(float);
    __aicore__ explicit operator float() const;
    uint16_t bits;
};
struct bfloat16_t {
    uint16_t bits;
};
#if __NPU_ARCH__ == 3510
struct fp8_e4m3fn_t {
    uint8_t bits;
};
struct fp8_e5m2_t {
    uint8_t bits;
};
struct fp8_e8m0_t {
    uint8_t bits;
};
struct hifloat8_t {
    uint8_t bits;
};
struct fp4x2_e2m1_t {
    uint8_t bits;
};
struct fp4x2_e1m2_t {
    uint8_t bits;
};
#endif

namespace AscendC {

struct int4b_t {
    uint8_t bits;
};

#if __NPU_ARCH__ == 2201
__aicore__ float ToFloat(const bfloat16_t& bVal);
#else
template <typename T>
__aicore__ inline float ToFloat(const T&) {
    static_assert(strict::is_any_of<T, bfloat16_t, hifloat8_t, fp8_e5m2_t, fp8_e4m3fn_t, fp4x2_e1m2_t, fp4x2_e2m1_t>);
    return 0.0f;
}
#endif
__aicore__ bfloat16_t ToBfloat16(const float& fVal);

}  // namespace AscendC
