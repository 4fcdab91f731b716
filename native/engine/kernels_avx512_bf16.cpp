// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for AVX-512 with the dot products of bf16 pairs and of bytes.
#include "engine/digit_stream-inl.h"
#include "engine/float4_stream-inl.h"
#include "engine/pair_stream-inl.h"

#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsAvx512Bf16;
// Beside fp16, codes as bf16 would take as many instructions as numbers of fp32 do.
constexpr Kernels kKernelsAvx512Bf16 =
    make_kernels<Fp32Operand, Bf16PairOperand, Bf16PairOperand, void, void, Bf16PairCodeOperand>(
        "avx512_bf16", &kFullQuantAvx512Bf16);

}  // namespace acl_attn::engine
