// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What one AI core has, by architecture, and the name of the namespace that kernels of that architecture live in: the
// simulator links both into one library. Kernels include this before anything else of theirs.
#pragma once

#include "kernel_operator.h"

#include <cstdint>

#if __NPU_ARCH__ == 2201
#define ACL_ATTN_KERNEL_ARCH arch2201
#elif __NPU_ARCH__ == 3510
#define ACL_ATTN_KERNEL_ARCH arch3510
#else
#error "__NPU_ARCH__: expected 2201 (Ascend 910B, A3) or 3510 (Ascend 950)"
#endif

// Index formulas are shared with the host; in a kernel they run on the AI core.
#ifndef ACL_ATTN_GEOMETRY_SPACE
#define ACL_ATTN_GEOMETRY_SPACE __aicore__
#endif

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

constexpr uint32_t kKibi = 1024;
constexpr uint32_t kL0aBytes = 64 * kKibi;
constexpr uint32_t kL0bBytes = 64 * kKibi;
constexpr uint32_t kL1Bytes = 512 * kKibi - 256;
#if __NPU_ARCH__ == 2201
constexpr uint32_t kUbBytes = 184 * kKibi;  // 192 KB less what some of the library's calls keep
constexpr uint32_t kL0cBytes = 128 * kKibi;
#else
constexpr uint32_t kUbBytes = 248 * kKibi;
constexpr uint32_t kL0cBytes = 256 * kKibi;
#endif

constexpr uint32_t kBlockBytes = 32;      // the unit of on-chip copies
constexpr uint32_t kVectorBytes = 256;    // one repeat of a vector instruction
constexpr uint32_t kFractalBytes = 512;   // 16 rows of 32 bytes
constexpr uint32_t kGmAlignment = 512;    // of workspace that Fixpipe writes
constexpr int32_t kFractalRows = 16;
constexpr int32_t kFloatsPerBlock = 8;
constexpr int32_t kFloatsPerVector = 64;
constexpr int32_t kVectorCores = 2;       // of one AI core
constexpr int32_t kMaxRepeat = 255;       // repeat counts and strides are 8 bits wide

template <class T>
constexpr int32_t kPerBlock = static_cast<int32_t>(kBlockBytes / sizeof(T));

// Columns of B that are transposed at a time on their way to L0B: A * B has n rounded up to that.
template <class T>
constexpr int32_t kTransposedColumns = sizeof(T) == 1 ? 32 : 1;

__aicore__ constexpr int32_t RoundUp(int32_t x, int32_t to) { return (x + to - 1) / to * to; }
__aicore__ constexpr int32_t Min(int32_t a, int32_t b) { return a < b ? a : b; }
__aicore__ constexpr int32_t Max(int32_t a, int32_t b) { return a > b ? a : b; }

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
