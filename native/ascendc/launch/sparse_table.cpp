// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/launch/sparse_table.h"

#include <algorithm>

#include "ascendc/launch/kernel_list.h"
#include "ascendc/launch/table.h"

#define ACL_ATTN_SPARSE_DECLARE(arch, element, rows) \
    extern "C" void acl_attn_sparse_##arch##_##element##_##rows(acl_attn::ascendc::SparseAttentionParams params);
ACL_ATTN_SPARSE_EACH(ACL_ATTN_SPARSE_DECLARE)

namespace acl_attn::ascendc {
namespace {

using engine::SparseProblem;
using engine::SparseRows;

#define ACL_ATTN_SPARSE_INSTANTIATION(arch, element, rows)                                       \
    {"acl_attn_sparse_" #arch "_" #element "_" #rows, arch, engine::Dtype::element, StoredRows::rows, \
     acl_attn_sparse_##arch##_##element##_##rows},
constexpr SparseInstantiation kSparseInstantiations[] = {ACL_ATTN_SPARSE_EACH(ACL_ATTN_SPARSE_INSTANTIATION)};

StoredRows stored_rows(SparseRows rows) {
    switch (rows) {
        case SparseRows::packed_e4m3: return StoredRows::packed_e4m3;
        case SparseRows::packed_hif8: return StoredRows::packed_hif8;
        default: return StoredRows::plain;
    }
}

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
    const StoredRows rows = stored_rows(p.rows);
    for (const SparseInstantiation& one : kSparseInstantiations) {
        if (one.architecture == architecture && one.element == p.dtype && one.rows == rows) return &one;
    }
    *lacking = "packed rows on dav-" + std::to_string(architecture) + ", whose vector unit has no such conversions";
    return nullptr;
}

}  // namespace acl_attn::ascendc
