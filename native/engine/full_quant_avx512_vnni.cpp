// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for quantised queries, for AVX-512 with the dot product of 8-bit integers.
#include "engine/full_quant-inl.h"

namespace acl_attn::engine {

extern const FullQuantKernels kFullQuantAvx512Vnni;
constexpr FullQuantKernels kFullQuantAvx512Vnni =
    make_full_quant_kernels<VectorProducts, IntegerArithmetic, FloatArithmetic>();

}  // namespace acl_attn::engine
