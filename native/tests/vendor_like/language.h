// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The words of the kernel language, and what each branch makes of them.
#pragma once

#include <cstdint>
#include <type_traits>

#if __NPU_ARCH__ != 2201 && __NPU_ARCH__ != 3510
#error "__NPU_ARCH__: expected 2201 or 3510"
#endif

// clang's CUDA language tells functions of the device from those of the host, as the vendor's compiler does: a call
// from a kernel to a function that is not __aicore__ is an error.
#if defined(__CUDA__)
#define __aicore__ __attribute__((device))
#define __global__ __attribute__((global))
#else
#define __aicore__
#define __global__
#endif
#define __mix__(cubes, vectors)
#define __cube__
#define __vector__
#define __simd_vf__ __aicore__
#define __simd_callee__ __aicore__

#if defined(ACL_ATTN_VENDOR_DEVICE)
#define __gm__ __attribute__((address_space(1)))
#define __cbuf__ __attribute__((address_space(2)))
#define __ca__ __attribute__((address_space(3)))
#define __cb__ __attribute__((address_space(4)))
#define __cc__ __attribute__((address_space(5)))
#define __ubuf__ __attribute__((address_space(6)))
#else
#define ASCENDC_CPU_DEBUG 1
#define __gm__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __ubuf__
#endif
#define GM_ADDR __gm__ uint8_t*

#if defined(__DAV_CUBE__)
#define SPLIT_CORE_CUBE
#elif defined(__DAV_VEC__)
#define SPLIT_CORE_VEC
#endif

namespace AscendC {
constexpr int32_t MIX = 0;
constexpr int32_t AIC = 1;
constexpr int32_t AIV = 2;
}  // namespace AscendC

#if defined(ASCENDC_CPU_DEBUG)
extern int32_t g_coreType;
#define ASCEND_IS_AIC (g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV (g_coreType == AscendC::AIV)
#else
#if defined(SPLIT_CORE_CUBE)
constexpr int32_t g_coreType = AscendC::AIC;
#elif defined(SPLIT_CORE_VEC)
constexpr int32_t g_coreType = AscendC::AIV;
#else
constexpr int32_t g_coreType = AscendC::MIX;
#endif
#define ASCEND_IS_AIC constexpr(g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr(g_coreType == AscendC::AIV)
#endif

namespace AscendC::strict {
template <class T, class... Options>
constexpr bool is_any_of = (std::is_same_v<T, Options> || ...);
constexpr bool k3510 = __NPU_ARCH__ == 3510;
}  // namespace AscendC::strict
