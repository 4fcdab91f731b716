// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/case.h"

#include "formats/packed_row.h"
#include "ops/saturating.h"

namespace acl_attn::ops::sparse {
namespace {

bool is_given(const meta::Tensor* tensor) { return tensor != nullptr && tensor->rank > 0 && tensor->shape[0] != 0; }

}  // namespace

int64_t extent(const meta::Tensor* tensor, int axis) {
    if (tensor == nullptr) return -1;
    const int at = axis < 0 ? tensor->rank + axis : axis;
    return at >= 0 && at < tensor->rank ? tensor->shape[at] : -1;
}

Case::Case(const Call& c) : call(c) {
    for (size_t i = 0; i < kInputCount; ++i) {
        const meta::Tensor* tensor = c.tensors[i].tensor.get();
        if (is_given(tensor)) in[i] = tensor;
    }
    // Required, so that an empty one is not an absent one.
    q = c.tensors[kQ].tensor.get();
    in[kOriKv] = c.tensors[kOriKv].tensor.get();
    out = c.outputs[kAttnOut].tensor.get();
    if (c.return_softmax_lse) lse = c.outputs[kSoftmaxLse].tensor.get();

    layout_q = find_layout_q(c.layout_q);
    layout_kv = find_layout_kv(c.op, c.layout_kv);
    ori = {in[kOriKv], in[kOriBlockTable], in[kOriSparseIndices], in[kOriTopkLength],
           kOriKv,     kOriBlockTable,     kOriSparseIndices};
    cmp = {in[kCmpKv], in[kCmpBlockTable], in[kCmpSparseIndices], in[kCmpTopkLength],
           kCmpKv,     kCmpBlockTable,     kCmpSparseIndices};
    if (is_quantised()) row_dim = formats::kPackedRow.bytes;
    heads = extent(q, -2);
    if (is_packed_q()) {
        tokens = extent(q, 0);
        if (in[kCuSeqlensQ] != nullptr) batch = in[kCuSeqlensQ]->numel() - 1;
    } else {
        batch = extent(q, 0);
        tokens = saturating_product(batch, extent(q, 1));
    }
}

Known Case::known() const {
    if (q == nullptr || out == nullptr) return Known::nothing;
    if (layout_q == Layout::unknown || layout_kv == Layout::unknown) return Known::tensors;
    const auto has_axes = [&](const Rows& rows) { return rows.tensor->rank == rank_of(layout_kv); };
    const bool has_dims = q->rank == rank_of(layout_q) && ori.tensor != nullptr && has_axes(ori) &&
                          (!has_cmp() || has_axes(cmp)) && batch >= 0;
    return has_dims ? Known::lengths : Known::layouts;
}

int64_t Case::room(const Rows& rows) const {
    if (!is_paged()) return extent(rows.tensor, 1);
    return saturating_product(extent(rows.table, 1), extent(rows.tensor, 1));
}

}  // namespace acl_attn::ops::sparse
