// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

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

// What no value is known of cannot be wrong.
const std::vector<int64_t>* q_values(const Case& c) { return c.call.is_largest ? nullptr : c.q_lengths; }
const std::vector<int64_t>* kv_values(const Case& c) { return c.call.is_largest ? nullptr : c.kv_lengths; }

Finding q_count(const Case& c) {
    if (q_values(c) == nullptr || c.is_packed()) return {};
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
    return q_values(c) == nullptr ? Finding{} : not_negative(kQ, *c.q_lengths, used(c, *c.q_lengths));
}

Finding q_ascending(const Case& c) {
    return q_values(c) == nullptr || !c.is_packed() ? Finding{} : ascending(kQ, *c.q_lengths, c);
}

Finding q_within(const Case& c) {
    if (q_values(c) == nullptr || c.is_packed()) return {};
    for (size_t i = 0; i < used(c, *c.q_lengths); ++i) {
        if ((*c.q_lengths)[i] > c.q.tokens) {
            return violated(entry(kQ, i), text("at most ", c.q.tokens, ", the token axis of query"),
                            text((*c.q_lengths)[i]));
        }
    }
    return {};
}

Finding kv_count_packed(const Case& c) {
    if (kv_values(c) == nullptr || !c.is_packed()) return {};
    const int64_t count = static_cast<int64_t>(c.kv_lengths->size());
    if (count == c.batch) return {};
    std::string fix;
    if (count == c.batch + 1 && c.packs_kv() && looks_like_cu_seqlens(*c.kv_lengths)) fix = cu_seqlens_hint(kKv);
    if (count == c.batch - 1 && c.q_lengths != nullptr && looks_like_cu_seqlens(*c.q_lengths)) {
        fix = cu_seqlens_hint(kQ);
    }
    return violated(kKv, text(c.batch, " entries, as many as actualSeqLengths"), text(count), fix);
}

Finding kv_count(const Case& c) {
    if (kv_values(c) == nullptr || c.is_packed()) return {};
    return plain_count(kKv, *c.kv_lengths, c.batch);
}

Finding kv_sign(const Case& c) {
    return kv_values(c) == nullptr ? Finding{} : not_negative(kKv, *c.kv_lengths, used(c, *c.kv_lengths));
}

Finding kv_ascending(const Case& c) {
    return kv_values(c) == nullptr || !c.packs_kv() ? Finding{} : ascending(kKv, *c.kv_lengths, c);
}

// Products hold lengths against the longest member of a list. Paged ones have the block table as their only bound,
// except where products take its whole width for the length.
Finding kv_within(const Case& c) {
    if (kv_values(c) == nullptr || c.is_packed()) return {};
    if (c.is_paged() && (c.is_host() || !c.is_anti())) return {};
    const size_t members = c.is_host() && c.is_list() ? c.k.size() : 1;
    const size_t count = std::min(static_cast<size_t>(c.batch), members > 1 ? members : used(c, *c.kv_lengths));
    for (size_t b = 0; b < count; ++b) {
        const size_t i = c.kv_lengths->size() == 1 ? 0 : b;
        if (i >= c.kv_lengths->size()) break;
        const int64_t limit = members > 1 ? c.k[b].tokens : c.product_kv;
        if ((*c.kv_lengths)[i] <= limit) continue;
        return violated(entry(kKv, i),
                        c.is_paged() ? text("at most ", limit, ", what the columns of blockTable hold")
                                     : text("at most ", limit, ", the token axis of key[", members > 1 ? b : 0, "]"),
                        text((*c.kv_lengths)[i]));
    }
    return {};
}

// The last running total is not the number of tokens stored.
Finding wrong_total(const std::string& name, int64_t last, int64_t tokens, const char* axis_of, const char* cut) {
    std::string fix;
    if (last >= 0 && last < tokens) {
        fix = text("pass the first ", last, " tokens of ", cut, ", or append ", tokens, " as a padding sequence");
    }
    return violated(name, text("T = ", tokens, ", the token axis of ", axis_of), text(last), fix);
}

Finding q_total(const Case& c) {
    if (q_values(c) == nullptr || !c.is_packed() || c.q_lengths->back() == c.q.tokens) return {};
    return wrong_total(entry(kQ, c.q_lengths->size() - 1), c.q_lengths->back(), c.q.tokens, "query", "query");
}

Finding kv_total(const Case& c) {
    if (kv_values(c) == nullptr || !c.packs_kv() || c.k.empty() || c.kv_lengths->back() == c.k[0].tokens) return {};
    return wrong_total(entry(kKv, c.kv_lengths->size() - 1), c.kv_lengths->back(), c.k[0].tokens, "key",
                       "key and value");
}

Finding packed_kv_given(const Case& c) {
    if (!c.packs_kv() || c.kv_lengths != nullptr) return {};
    return violated(kKv, text("with layout ", c.layout->name, ", running totals of the sequences' keys"), "nothing");
}

Finding paged_kv_given(const Case& c) {
    if (c.storage != Storage::paged || c.kv_lengths != nullptr) return {};
    return violated(kKv, "with a blockTable, the number of keys of each sequence", "nothing");
}

Finding only_packed_mla(const Case& c) {
    if (c.quantisation != Quantisation::mla || c.q_lengths == nullptr || c.is_packed()) return {};
    return violated(kQ, "nothing in fully quantised decode MLA whose queries are not packed",
                    text(c.q_lengths->size(), " entries"));
}

Finding slopes_over_equal_lengths(const Case& c) {
    if (!c.has_slopes() || c.call.is_largest) return {};
    for (size_t b = 0; b < c.q_tokens.size(); ++b) {
        if (c.q_tokens[b].count == c.kv_tokens[b].count) continue;
        return violated(entry(kKv, b), text(c.q_tokens[b].count, ", the query tokens of the sequence, with pseType ",
                                            c.call.pse_type),
                        text(c.kv_tokens[b].count));
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"ASL-S-02", Tier::single, q_count, kEverywhere, kQ,
     "unless queries are packed, there is one entry for all, or at least one for each sequence"},
    {"ASL-S-06", Tier::single, q_sign, kEverywhere, kQ, "entries are not negative"},
    {"ASL-S-03", Tier::single, q_ascending, kEverywhere, kQ, "totals of packed queries do not descend"},
    {"ASL-S-05", Tier::single, q_within, kEverywhere, kQ, "lengths lie within query's token axis"},
    {"ASL-S-07", Tier::single, kv_count_packed, kEverywhere, kKv,
     "with packed queries there are as many entries as in actualSeqLengths"},
    {"ASL-S-08", Tier::single, kv_count, kEverywhere, kKv,
     "unless queries are packed, there is one entry for all, or at least one for each sequence"},
    {"ASL-S-12", Tier::single, kv_sign, kEverywhere, kKv, "entries are not negative"},
    {"ASL-S-09", Tier::single, kv_ascending, kEverywhere, kKv, "totals of packed keys do not descend"},
    {"ASL-S-11", Tier::single, kv_within, kEverywhere, kKv,
     "lengths lie within key's token axis; in a list, products look at the longest member"},
    {"ASL-S-04", Tier::single, q_total, kEverywhere, kQ, "the last total is the number of query's tokens"},
    {"ASL-S-10", Tier::single, kv_total, kEverywhere, kKv, "the last total is the number of key's tokens"},
    {"ASL-E-02", Tier::existence, packed_kv_given, kEverywhere, kKv, "packed keys come with actualSeqLengthsKv"},
    {"ASL-E-03", Tier::existence, paged_kv_given, kEverywhere, kKv, "paged keys come with actualSeqLengthsKv"},
    {"ASL-X-01", Tier::cross, slopes_over_equal_lengths, page_only(kProducts), kKv,
     "with pseType 2 or 3 a sequence has as many keys as query tokens", Known::lengths},
    {"ASL-X-02", Tier::cross, only_packed_mla, kProducts, kQ,
     "fully quantised decode MLA has actualSeqLengths only if queries are packed"},
};

}  // namespace

const Group<Case> kLengthRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
