// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How the kernels of a chip family cut rows and columns into blocks.
#pragma once

#include <cstdint>

#include "ops/sparse_attention/operator.h"
#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {

enum class ChipFamily : uint8_t {
    a2_a3,  // Ascend910B, Ascend910_93
    a5,     // Ascend950
};

// `is_listed`: tokens have lists of columns, so that two tokens share none. 1 to 128 heads.
constexpr Blocking blocking_of(Operator op, ChipFamily family, int64_t heads, bool is_listed) {
    if (family == ChipFamily::a5) return {heads, 128, heads > 64 ? 2 : 1};
    if (is_listed) return {heads, 512, 1};
    return {op == Operator::sparse_flash_mla ? 256 / heads * heads : 128, 512, 1};
}

}  // namespace acl_attn::ops::sparse
