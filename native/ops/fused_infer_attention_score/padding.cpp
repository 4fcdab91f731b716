// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/padding.h"

#include <algorithm>

namespace acl_attn::ops::fia {
namespace {

// The token axis index of the first token; negative: there is no room.
int64_t first_token(int64_t tokens, int64_t size, int64_t count) {
    return tokens - std::min(std::max<int64_t>(size, 0), tokens + 1) - count;
}

void shift_query(const engine::Problem& p, engine::Sequence& s, int64_t first, int64_t tokens) {
    if (first < 0) {
        s.q_len = 0;
        s.pad_after = tokens;
        return;
    }
    s.q_offset += first * p.query.token_stride;
    s.query_rope_offset += first * p.query_rope.token_stride;
    s.out_offset += first * p.out.token_stride;
    s.lse_offset += first * p.lse.token_stride;
    s.mask_offset += first * p.mask_row_stride;
    s.bias_offset += first * p.bias_row_stride;
    s.pad_before = first;
    s.pad_after = tokens - first - s.q_len;
}

void shift_kv(const engine::Problem& p, engine::Sequence& s, int64_t first) {
    if (first < 0) {
        s.kv_len = 0;
        return;
    }
    s.key_offset += first * p.key.token_stride;
    s.value_offset += first * p.value.token_stride;
    s.key_rope_offset += first * p.key_rope.token_stride;
    s.mask_offset += first;
    s.bias_offset += first;
    s.key_scale_offset += first * p.key_dequant.layout.token_stride;
    s.value_scale_offset += first * p.value_dequant.layout.token_stride;
}

}  // namespace

Padding padding_of(const Case& c) {
    Padding padding;
    padding.query = c.pads_query();
    padding.kv = c.pads_kv();
    padding.query_tokens = c.q.tokens;
    if (padding.kv) padding.kv_tokens = c.k.front().tokens;
    return padding;
}

engine::Problem padded(engine::Problem p, const Padding& padding, int64_t query_size, int64_t kv_size) {
    for (engine::Sequence& s : p.sequences) {
        if (padding.query) {
            shift_query(p, s, first_token(padding.query_tokens, query_size, s.q_len), padding.query_tokens);
        }
        if (padding.kv) shift_kv(p, s, first_token(padding.kv_tokens, kv_size, s.kv_len));
    }
    return p;
}

}  // namespace acl_attn::ops::fia
