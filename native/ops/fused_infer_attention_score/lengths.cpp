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
    return {start, static_cast<int64_t>(static_cast<uint64_t>(totals[b]) - static_cast<uint64_t>(start))};
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

bool is_plain_count(const std::vector<int64_t>& lengths, int64_t batch) {
    const int64_t count = static_cast<int64_t>(lengths.size());
    return count == 1 || count >= batch;
}

bool are_readable(const Case& c) {
    if (c.batch < 1 || c.batch > kMaxBatch) return false;
    if (c.is_list() && static_cast<int64_t>(c.key->size()) != c.batch) return false;
    const int64_t count = c.kv_lengths == nullptr ? -1 : static_cast<int64_t>(c.kv_lengths->size());
    if (c.is_packed()) return c.q_lengths != nullptr && count == c.batch;
    if (c.q_lengths != nullptr && !is_plain_count(*c.q_lengths, c.batch)) return false;
    if (c.kv_lengths == nullptr) return !c.is_paged();
    return is_plain_count(*c.kv_lengths, c.batch);
}

// Tokens that lie inside their axis. Totals may have wrapped round where they descend.
bool lie_within(const Tokens& tokens, int64_t axis) {
    return tokens.start >= 0 && tokens.count >= 0 && tokens.start <= axis && tokens.count <= axis - tokens.start;
}

int64_t kv_axis(const Case& c, int64_t b) {
    // The block table is the only bound, which a rule looks at.
    return c.is_paged() ? kMaxTokens : c.k[c.is_list() ? static_cast<size_t>(b) : 0].tokens;
}

}  // namespace

bool read_lengths(Case& c) {
    if (!are_readable(c)) return false;
    c.q_tokens.reserve(static_cast<size_t>(c.batch));
    c.kv_tokens.reserve(static_cast<size_t>(c.batch));
    for (int64_t b = 0; b < c.batch; ++b) {
        const Tokens q = query_tokens(c, b);
        const Tokens kv = kv_tokens(c, b);
        if (!lie_within(q, c.q.tokens) || !lie_within(kv, kv_axis(c, b))) return false;
        c.q_tokens.push_back(q);
        c.kv_tokens.push_back(kv);
        c.longest_q = std::max(c.longest_q, q.count);
        c.longest_kv = std::max(c.longest_kv, kv.count);
    }
    return true;
}

}  // namespace acl_attn::ops::fia
