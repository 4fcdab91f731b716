// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows for AVX-512.
#include "engine/packed_rows-inl.h"

namespace acl_attn::engine {

extern const PackedRowKernels kPackedRowsAvx512;
constexpr PackedRowKernels kPackedRowsAvx512 = make_packed_row_kernels("avx512");

}  // namespace acl_attn::engine
