// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sparse_table.h"

#include <algorithm>

#include "ascendc/launch/kernel_list.h"
#include "ascendc/launch/table.h"
#include "engine/sparse_blocks.h"

#define ACL_ATTN_SPARSE_DECLARE(arch, element, row) \
    extern "C" void acl_attn_sparse_##arch##_##element##_##row(acl_attn::ascendc::SparseAttentionParams params);
ACL_ATTN_SPARSE_EACH(ACL_ATTN_SPARSE_DECLARE)

namespace acl_attn::ascendc {
namespace {

using engine::SparseProblem;

#define ACL_ATTN_SPARSE_INSTANTIATION(arch, element, row)                                                   \
    {"acl_attn_sparse_" #arch "_" #element "_" #row, arch, engine::Dtype::element, engine::Dtype::row,      \
     acl_attn_sparse_##arch##_##element##_##row},
constexpr SparseInstantiation kSparseInstantiations[] = {ACL_ATTN_SPARSE_EACH(ACL_ATTN_SPARSE_INSTANTIATION)};

bool is_far_apart(const SparseProblem& p) {
    return std::max({p.out.head_stride, p.out.token_stride, p.lse.head_stride, p.lse.token_stride, p.ori.row_stride,
                     p.cmp.row_stride}) > kMaxStride;
}

}  // namespace

const SparseInstantiation* find_instantiation(const SparseProblem& p, int32_t architecture, std::string* lacking) {
    if (is_far_apart(p)) {
        *lacking = "rows this far apart";
        return nullptr;
    }
    const engine::Dtype row = engine::type_in_rows(p);
    for (const SparseInstantiation& one : kSparseInstantiations) {
        if (one.architecture == architecture && one.element == p.dtype && one.row == row) return &one;
    }
    *lacking = "packed rows on dav-" + std::to_string(architecture);
    return nullptr;
}

}  // namespace acl_attn::ascendc
