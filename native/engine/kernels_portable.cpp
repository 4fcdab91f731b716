// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the baseline that the compiler may assume (SSE2 on x86-64, NEON on aarch64).
#include "engine/float4_stream-inl.h"
#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsPortable;
constexpr Kernels kKernelsPortable = make_kernels<Fp32Operand, Fp32Operand>("portable", &kFullQuantPortable);

}  // namespace acl_attn::engine
