// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for quantised queries, for AVX-512 with AMX products of 8-bit integers and of bf16 pairs.
#include "engine/full_quant-inl.h"

namespace acl_attn::engine {

extern const FullQuantKernels kFullQuantAmx;
constexpr FullQuantKernels kFullQuantAmx =
    make_full_quant_kernels<AmxProducts, AmxInt8Arithmetic, AmxBf16Arithmetic>();

}  // namespace acl_attn::engine
