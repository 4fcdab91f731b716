// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for quantised queries, for AVX2 with FMA and F16C.
#include "engine/full_quant-inl.h"

namespace acl_attn::engine {

extern const FullQuantKernels kFullQuantAvx2;
constexpr FullQuantKernels kFullQuantAvx2 =
    make_full_quant_kernels<VectorProducts, IntegerArithmetic, FloatArithmetic>();

}  // namespace acl_attn::engine
