// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __NPU_ARCH__ == 2201
#include "ascendc/tile/arch2201/handoff.h"
#else
#include "ascendc/tile/arch3510/handoff.h"
#endif

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// The rows of a tile are shared out: vector core 0 has the first half, rounded up.
struct RowShare {
    int32_t begin;
    int32_t rows;
};

__aicore__ inline RowShare ShareOf(int32_t rows, int32_t vector_core) {
    const int32_t half = (rows + 1) / kVectorCores;
    RowShare share;
    share.begin = vector_core == 0 ? 0 : half;
    share.rows = vector_core == 0 ? half : rows - half;
    return share;
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
