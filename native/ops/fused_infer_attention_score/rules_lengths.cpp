// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/fused_infer_attention_score/rules.h"

namespace acl_attn::ops::fia {
namespace {

constexpr const char* kQ = "actualSeqLengths";
constexpr const char* kKv = "actualSeqLengthsKv";

std::string entry(const char* name, size_t i) { return text(name, "[", i, "]"); }

// Other libraries' cu_seqlens put a 0 in front of the same running totals.
bool looks_like_cu_seqlens(const std::vector<int64_t>& totals) { return totals.size() > 1 && totals[0] == 0; }
std::string cu_seqlens_hint(const char* name) {
    return text(name, " looks like cu_seqlens: drop the leading 0");
}

Finding plain_count(const char* name, const std::vector<int64_t>& lengths, int64_t batch) {
    const int64_t count = static_cast<int64_t>(lengths.size());
    if (count == 1 || count >= batch) return {};
    return violated(name, text("1 entry or at least ", batch, ", the sequences of query"), text(count));
}

Finding q_count(const Case& c) {
    if (c.q_lengths == nullptr || c.is_packed()) return {};
    return plain_count(kQ, *c.q_lengths, c.batch);
}

// Entries that lie beyond the sequences of a batched call are never looked at.
size_t used(const Case& c, const std::vector<int64_t>& lengths) {
    const size_t batch = static_cast<size_t>(c.batch);
    return lengths.size() < batch ? lengths.size() : batch;
}

Finding not_negative(const char* name, const std::vector<int64_t>& lengths, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (lengths[i] < 0) return violated(entry(name, i), "0 or more", text(lengths[i]));
    }
    return {};
}

Finding ascending(const char* name, const std::vector<int64_t>& totals, const Case& c) {
    for (size_t i = 1; i < totals.size(); ++i) {
        if (totals[i] < totals[i - 1]) {
            return violated(entry(name, i), text("at least ", totals[i - 1], ", the entry before it"), text(totals[i]),
                            text("layout ", c.layout->name, " takes running totals, not lengths"));
        }
    }
    return {};
}

Finding q_sign(const Case& c) {
    return c.q_lengths == nullptr ? Finding{} : not_negative(kQ, *c.q_lengths, used(c, *c.q_lengths));
}

Finding q_ascending(const Case& c) {
    return c.q_lengths == nullptr || !c.is_packed() ? Finding{} : ascending(kQ, *c.q_lengths, c);
}

Finding q_within(const Case& c) {
    if (c.q_lengths == nullptr || c.is_packed()) return {};
    for (size_t i = 0; i < used(c, *c.q_lengths); ++i) {
        if ((*c.q_lengths)[i] > c.q.tokens) {
            return violated(entry(kQ, i), text("at most ", c.q.tokens, ", the token axis of query"),
                            text((*c.q_lengths)[i]));
        }
    }
    return {};
}

Finding kv_count_packed(const Case& c) {
    if (c.kv_lengths == nullptr || !c.is_packed()) return {};
    const int64_t count = static_cast<int64_t>(c.kv_lengths->size());
    if (count == c.batch) return {};
    std::string fix;
    if (count == c.batch + 1 && c.packs_kv() && looks_like_cu_seqlens(*c.kv_lengths)) fix = cu_seqlens_hint(kKv);
    if (count == c.batch - 1 && looks_like_cu_seqlens(*c.q_lengths)) fix = cu_seqlens_hint(kQ);
    return violated(kKv, text(c.batch, " entries, as many as actualSeqLengths"), text(count), fix);
}

Finding kv_count(const Case& c) {
    if (c.kv_lengths == nullptr || c.is_packed()) return {};
    return plain_count(kKv, *c.kv_lengths, c.batch);
}

Finding kv_sign(const Case& c) {
    return c.kv_lengths == nullptr ? Finding{} : not_negative(kKv, *c.kv_lengths, used(c, *c.kv_lengths));
}

Finding kv_ascending(const Case& c) {
    return c.kv_lengths == nullptr || !c.packs_kv() ? Finding{} : ascending(kKv, *c.kv_lengths, c);
}

// Paged lengths are held against the block table, which is the only bound they have.
Finding kv_within(const Case& c) {
    if (c.kv_lengths == nullptr || c.is_packed() || c.storage == Storage::paged) return {};
    for (size_t b = 0; b < static_cast<size_t>(c.batch); ++b) {
        const size_t i = c.kv_lengths->size() == 1 ? 0 : b;
        const size_t m = c.storage == Storage::list ? b : 0;
        if ((*c.kv_lengths)[i] > c.k[m].tokens) {
            return violated(entry(kKv, i), text("at most ", c.k[m].tokens, ", the token axis of key[", m, "]"),
                            text((*c.kv_lengths)[i]));
        }
    }
    return {};
}

Finding q_total(const Case& c) {
    if (c.q_lengths == nullptr || !c.is_packed() || c.q_lengths->back() == c.q.tokens) return {};
    const int64_t last = c.q_lengths->back();
    return violated(entry(kQ, c.q_lengths->size() - 1), text("T = ", c.q.tokens, ", the token axis of query"),
                    text(last),
                    last < c.q.tokens ? text("pass the first ", last, " tokens of query, or append ", c.q.tokens,
                                             " as a padding sequence")
                                      : std::string{});
}

Finding kv_total(const Case& c) {
    if (c.kv_lengths == nullptr || !c.packs_kv() || c.k.empty() || c.kv_lengths->back() == c.k[0].tokens) return {};
    const int64_t last = c.kv_lengths->back();
    return violated(entry(kKv, c.kv_lengths->size() - 1), text("T = ", c.k[0].tokens, ", the token axis of key"),
                    text(last),
                    last < c.k[0].tokens ? text("pass the first ", last, " tokens of key and value, or append ",
                                                c.k[0].tokens, " as a padding sequence")
                                         : std::string{});
}

Finding packed_kv_given(const Case& c) {
    if (!c.packs_kv() || c.kv_lengths != nullptr) return {};
    return violated(kKv, text("with layout ", c.layout->name, ", running totals of the sequences' keys"), "nothing");
}

Finding paged_kv_given(const Case& c) {
    if (c.storage != Storage::paged || c.kv_lengths != nullptr) return {};
    return violated(kKv, "with a blockTable, the number of keys of each sequence", "nothing");
}

constexpr Rule<Case> kRules[] = {
    {"ASL-S-02", Tier::single, q_count},
    {"ASL-S-06", Tier::single, q_sign},
    {"ASL-S-03", Tier::single, q_ascending},
    {"ASL-S-05", Tier::single, q_within},
    {"ASL-S-07", Tier::single, kv_count_packed},
    {"ASL-S-08", Tier::single, kv_count},
    {"ASL-S-12", Tier::single, kv_sign},
    {"ASL-S-09", Tier::single, kv_ascending},
    {"ASL-S-11", Tier::single, kv_within},
    {"ASL-S-04", Tier::single, q_total},
    {"ASL-S-10", Tier::single, kv_total},
    {"ASL-E-02", Tier::existence, packed_kv_given},
    {"ASL-E-03", Tier::existence, paged_kv_given},
};

}  // namespace

const Group<Case> kLengthRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
