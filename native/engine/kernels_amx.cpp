// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for AVX-512 with AMX products of bf16.
#include "engine/amx_row_panels-inl.h"
#include "engine/amx_rows-inl.h"
#include "engine/amx_shared_rows-inl.h"
#include "engine/amx_stream-inl.h"
#include "engine/float4_stream-inl.h"
#include "engine/float8_stream-inl.h"
#include "engine/kernels-inl.h"

namespace acl_attn::engine {

extern const Kernels kKernelsAmx;
constexpr Kernels kKernelsAmx =
    make_kernels<AmxOperand<2>, AmxOperand<1>, AmxSharedOperand, AmxFewOperand, AmxCodeOperand<F16>,
                 AmxCodeOperand<BF16>>("amx", &kFullQuantAmx);

}  // namespace acl_attn::engine
