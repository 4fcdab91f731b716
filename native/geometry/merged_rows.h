// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The query heads that share a KV head see the same keys, so their rows are computed together: merged row r of a KV
// head is token r / group, head kv_head * group + r % group.
#pragma once

#include <cstdint>

#include "geometry/space.h"

namespace acl_attn::geometry {

// Merged rows that lie equally far apart: tokens of one head where the group is one head, heads of one token otherwise.
struct RowRun {
    int64_t token = 0;
    int64_t head = 0;  // inside the group
    int64_t count = 0;
};

// The run that starts at merged row `row`, of at most `most` rows.
ACL_ATTN_GEOMETRY_SPACE constexpr RowRun row_run(int64_t row, int64_t most, int64_t group) {
    if (group == 1) return {row, 0, most};
    const int64_t head = row % group;
    return {row / group, head, most < group - head ? most : group - head};
}

// Between the rows of a run.
ACL_ATTN_GEOMETRY_SPACE constexpr int64_t run_stride(int64_t group, int64_t token_stride, int64_t head_stride) {
    return group == 1 ? token_stride : head_stride;
}

}  // namespace acl_attn::geometry
