// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for AVX-512 F, BW, DQ and VL.
#include "engine/float4_stream-inl.h"
#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsAvx512;
constexpr Kernels kKernelsAvx512 = make_kernels<Fp32Operand, Fp32Operand>("avx512", &kFullQuantAvx512);

// Integers apart, the same.
extern const Kernels kKernelsAvx512Vnni;
constexpr Kernels kKernelsAvx512Vnni = make_kernels<Fp32Operand, Fp32Operand>("avx512_vnni", &kFullQuantAvx512Vnni);

}  // namespace acl_attn::engine
