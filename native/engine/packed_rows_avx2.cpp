// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows for AVX2 with FMA and F16C.
#include "engine/packed_rows-inl.h"

namespace acl_attn::engine {

extern const PackedRowKernels kPackedRowsAvx2;
constexpr PackedRowKernels kPackedRowsAvx2 = make_packed_row_kernels("avx2");

}  // namespace acl_attn::engine
