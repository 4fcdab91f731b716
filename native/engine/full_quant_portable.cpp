// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for quantised queries, for every processor.
#include "engine/full_quant-inl.h"

namespace acl_attn::engine {

extern const FullQuantKernels kFullQuantPortable;
constexpr FullQuantKernels kFullQuantPortable =
    make_full_quant_kernels<VectorProducts, IntegerArithmetic, FloatArithmetic>();

}  // namespace acl_attn::engine
