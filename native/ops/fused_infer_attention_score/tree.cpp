// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/tree.h"

#include <algorithm>
#include <cstring>

namespace acl_attn::ops::fia {

TreeMask tree_of(const Case& c) {
    if (!c.is_tree() || c.mask == nullptr) return {};
    if (c.mask->rank == 1) return {true, 0, 0};
    return {true, c.mask->shape[1] * c.mask->shape[2], c.mask->shape[2]};
}

void place_tree(const Case& c, engine::Problem& p) {
    if (!tree_of(c).present) return;
    int64_t offset = 0;
    p.mask_row_stride = 0;
    for (const engine::Sequence& s : p.sequences) p.mask_row_stride = std::max(p.mask_row_stride, s.kv_len);
    for (engine::Sequence& s : p.sequences) {
        s.mask_offset = offset;
        offset += s.q_len * p.mask_row_stride;
    }
}

std::vector<uint8_t> expand(const TreeMask& tree, const engine::Problem& p, const uint8_t* mask) {
    int64_t size = 0;
    for (const engine::Sequence& s : p.sequences) size += s.q_len * p.mask_row_stride;
    std::vector<uint8_t> wide(static_cast<size_t>(std::max<int64_t>(size, 1)), 0);
    for (const engine::Sequence& s : p.sequences) {
        const int64_t row_stride = tree.row_stride == 0 ? s.q_len : tree.row_stride;
        for (int64_t i = 0; i < s.q_len; ++i) {
            uint8_t* const row = wide.data() + s.mask_offset + i * p.mask_row_stride;
            std::memcpy(row + (s.kv_len - s.q_len), mask + i * row_stride, static_cast<size_t>(s.q_len));
        }
        mask += tree.row_stride == 0 ? s.q_len * s.q_len : tree.sequence_stride;
    }
    return wide;
}

}  // namespace acl_attn::ops::fia
