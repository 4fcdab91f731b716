// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for quantised queries, for AVX-512 with the dot products of 8-bit integers and of bf16 pairs.
#include "engine/full_quant-inl.h"

namespace acl_attn::engine {

extern const FullQuantKernels kFullQuantAvx512Bf16;
constexpr FullQuantKernels kFullQuantAvx512Bf16 =
    make_full_quant_kernels<VectorProducts, IntegerArithmetic, FloatArithmetic>();

}  // namespace acl_attn::engine
