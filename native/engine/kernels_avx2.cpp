// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for AVX2 with FMA and F16C.
#include "engine/float4_stream-inl.h"
#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsAvx2;
constexpr Kernels kKernelsAvx2 = make_kernels<Fp32Operand, Fp32Operand>("avx2", &kFullQuantAvx2);

}  // namespace acl_attn::engine
