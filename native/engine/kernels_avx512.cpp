// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for AVX-512 F, BW, DQ and VL.
#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsAvx512;
constexpr Kernels kKernelsAvx512 = make_kernels<Fp32Operand>("avx512");

}  // namespace acl_attn::engine
