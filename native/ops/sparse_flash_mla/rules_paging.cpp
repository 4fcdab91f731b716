// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

Finding no_cmp_table(const Case& c) {
    return c.has_cmp() ? Finding{} : is_excluded(c, kCmpBlockTable, "without cmpKv");
}

Finding no_tables(const Case& c) {
    return c.is_paged() ? Finding{} : are_excluded(c, {kOriBlockTable, kCmpBlockTable}, "unless layoutKv is PA_BBND");
}

template <class Fits>
Finding block_sizes(const Case& c, const char* expected, Fits&& fits) {
    if (!c.is_paged()) return {};
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || fits(extent(rows->tensor, 1))) continue;
        return wrong_shape(c.name(rows->name), text(axes_of(c.layout_kv), " with blocks of ", expected), *rows->tensor);
    }
    return {};
}

Finding block_sizes_of_older(const Case& c) {
    return block_sizes(c, "16, 32, ... 1024 rows", [](int64_t n) { return n >= 16 && n <= 1024 && n % 16 == 0; });
}
Finding block_sizes_in_range(const Case& c) {
    return block_sizes(c, "1 to 1024 rows", [](int64_t n) { return n >= 1 && n <= 1024; });
}

Finding pools_dense_in_blocks(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->tensor->is_empty()) continue;
        const meta::Tensor& tensor = *rows->tensor;
        const int free_axes = c.is_paged() ? 1 : 0;
        if (tensor.is_dense_from(free_axes) && (free_axes == 0 || tensor.shape[0] == 1 || tensor.stride[0] > 0))
            continue;
        return invalid(c.name(rows->name),
                       c.is_paged() ? "dense blocks a positive stride apart" : "a contiguous tensor",
                       text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)));
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"SMLA-016", Tier::single, tables_typed, kEverywhere, "oriBlockTable",
     "INT32, two axes, not empty, and cmpBlockTable"},
    {"SMLA-027", Tier::existence, ori_table_given, kEverywhere, "oriBlockTable", "required with PA_BBND"},
    {"SMLA-029", Tier::existence, cmp_table_given, kEverywhere, "cmpBlockTable", "required with PA_BBND and cmpKv"},
    {"SMLA-029", Tier::existence, no_cmp_table, and_host(kAscend950), "cmpBlockTable", "absent without cmpKv"},
    {"SMLA-031", Tier::existence, no_tables, and_host(kAscend950), "oriBlockTable",
     "absent unless PA_BBND, and cmpBlockTable"},
    {"SMLA-047", Tier::cross, block_sizes_of_older, kOlder, "oriKv",
     "blocks of a multiple of 16 rows, at most 1024, and cmpKv"},
    {"SMLA-048", Tier::cross, block_sizes_in_range, kAscend950, "oriKv", "blocks of 1 to 1024 rows, and cmpKv"},
    {"SMLA-062", Tier::consistency, table_rows, kEverywhere, "oriBlockTable",
     "a row for each sequence, and cmpBlockTable"},
    {"SMLA-066", Tier::consistency, pools_dense_in_blocks, kProducts, "oriKv",
     "dense, but for the block axis of PA_BBND, and cmpKv"},
};

}  // namespace

const Group<Case> kPagingRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
