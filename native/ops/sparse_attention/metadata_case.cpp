// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

MetadataCase::MetadataCase(const MetadataCall& c, const PlanningDevice& on) : call(c), device(on) {
    for (size_t i = 0; i < kInputCount; ++i) {
        const meta::Tensor* tensor = c.tensors[i].tensor.get();
        if (extent(tensor, 0) > 0) in[i] = tensor;
    }
    metadata = c.metadata.tensor.get();
    layout_q = find_layout_q(c.layout_q);
    layout_kv = find_layout_kv(c.op, c.layout_kv);
    batch = sequences(kSequsedQ, is_packed_q() ? kCuSeqlensQ : kInputCount);
    if (batch < 0) batch = c.batch_size;
}

Known MetadataCase::known() const {
    if (metadata == nullptr) return Known::nothing;
    if (layout_q == Layout::unknown || layout_kv == Layout::unknown) return Known::tensors;
    return batch >= 0 ? Known::lengths : Known::layouts;
}

int64_t MetadataCase::sequences(Input used, Input totals) const {
    if (in[used] != nullptr) return in[used]->numel();
    return totals != kInputCount && in[totals] != nullptr ? in[totals]->numel() - 1 : -1;
}

}  // namespace acl_attn::ops::sparse
