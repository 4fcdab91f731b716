// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Words of the kernel language that mean nothing to a host compiler, and which chip is being compiled for. Everything
// in AscendC lies in an inline namespace per chip, because one library holds the kernels of both.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "sim/operation.h"

#define ACL_ATTN_SIM 1

#if !defined(__NPU_ARCH__)
#error "__NPU_ARCH__: expected 2201 or 3510, got nothing; compile kernels with -D__NPU_ARCH__=2201 or 3510"
#elif __NPU_ARCH__ == 2201
#define ACL_ATTN_SIM_CHIP chip2201
#elif __NPU_ARCH__ == 3510
#define ACL_ATTN_SIM_CHIP chip3510
#else
#error "__NPU_ARCH__: expected 2201 or 3510; the simulator knows no other chip"
#endif

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#define __inout_pipe__(pipe)
#define GM_ADDR __gm__ uint8_t*
#if __NPU_ARCH__ == 3510
#define __simd_vf__
#define __simd_callee__
#endif

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

constexpr bool kIs3510 = __NPU_ARCH__ == 3510;
constexpr acl_attn::sim::Arch kArch = kIs3510 ? acl_attn::sim::Arch::dav3510 : acl_attn::sim::Arch::dav2201;

template <class T, class... Options>
constexpr bool is_any_of = (std::is_same_v<T, Options> || ...);

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
