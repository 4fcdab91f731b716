// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Running totals where sequences are packed, plain lengths (one for all, or one each) where they are not.
#include <algorithm>

#include "ops/fused_infer_attention_score/case.h"

namespace acl_attn::ops::fia {
namespace {

Tokens running(const std::vector<int64_t>& totals, int64_t b) {
    const int64_t start = b == 0 ? 0 : totals[b - 1];
    return {start, totals[b] - start};
}

Tokens plain(const std::vector<int64_t>& lengths, int64_t b) { return {0, lengths[lengths.size() == 1 ? 0 : b]}; }

Tokens query_tokens(const Case& c, int64_t b) {
    if (c.is_packed()) return running(*c.q_lengths, b);
    if (c.q_lengths != nullptr) return plain(*c.q_lengths, b);
    return {0, c.q.tokens};
}

Tokens kv_tokens(const Case& c, int64_t b) {
    if (c.packs_kv()) return running(*c.kv_lengths, b);
    if (c.kv_lengths != nullptr) return plain(*c.kv_lengths, b);
    return {0, c.k[c.storage == Storage::list ? b : 0].tokens};
}

}  // namespace

void read_lengths(Case& c) {
    c.q_tokens.reserve(c.batch);
    c.kv_tokens.reserve(c.batch);
    for (int64_t b = 0; b < c.batch; ++b) {
        c.q_tokens.push_back(query_tokens(c, b));
        c.kv_tokens.push_back(kv_tokens(c, b));
        c.longest_q = std::max(c.longest_q, c.q_tokens.back().count);
        c.longest_kv = std::max(c.longest_kv, c.kv_tokens.back().count);
    }
}

}  // namespace acl_attn::ops::fia
