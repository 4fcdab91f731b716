// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows for the processors that the compiler assumes.
#include "engine/packed_rows-inl.h"

namespace acl_attn::engine {

extern const PackedRowKernels kPackedRowsPortable;
constexpr PackedRowKernels kPackedRowsPortable = make_packed_row_kernels("portable");

}  // namespace acl_attn::engine
