// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

Finding lengths_typed(const Case& c) {
    return are_int_vectors(c, {kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv, kSequsedCmpKv,
                               kCmpResidualKv});
}

Finding no_cu_seqlens_q(const Case& c) {
    return c.is_packed_q() ? Finding{} : is_excluded(c, kCuSeqlensQ, "with layoutQ BSND", "sequsedQ gives lengths");
}

Finding cu_seqlens_kv_given(const Case& c) {
    if (c.layout_kv != Layout::tnd) return {};
    if (Finding finding = is_required(c, kCuSeqlensOriKv, "with layoutKv TND")) return finding;
    return c.has_cmp() ? is_required(c, kCuSeqlensCmpKv, "with cmpKv and layoutKv TND") : Finding{};
}

Finding no_cu_seqlens_kv(const Case& c) {
    if (c.layout_kv == Layout::tnd) return {};
    return are_excluded(c, {kCuSeqlensOriKv, kCuSeqlensCmpKv}, "unless layoutKv is TND");
}

// Lists over all original tokens need no length: the list's own says how many entries count.
bool is_listed_by_length(const Rows& rows, int64_t mask_mode) {
    return rows.indices != nullptr && mask_mode == 0 && rows.topk_length != nullptr;
}

Finding paged_length_given(const Case& c) {
    if (!c.is_paged() || is_listed_by_length(c.ori, c.call.ori_mask_mode)) return {};
    return ori_used_given(c);
}

Finding paged_cmp_length_given(const Case& c) {
    if (!c.is_paged() || !c.has_cmp()) return {};
    const bool is_list = is_listed_by_length(c.cmp, c.call.cmp_mask_mode) && c.ori.indices != nullptr;
    return is_list ? Finding{} : is_required(c, kSequsedCmpKv, "with cmpKv and layoutKv PA_BBND");
}

Finding lengths_fit_batch(const Case& c) {
    if (Finding finding = cu_seqlens_q_length(c)) return finding;
    for (const Input input : {kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv}) {
        if (Finding finding = has_length(c, input, c.batch + 1, "one more than sequences")) return finding;
    }
    for (const Input input : {kSequsedQ, kSequsedOriKv, kSequsedCmpKv, kCmpResidualKv}) {
        if (Finding finding = has_length(c, input, c.batch, "one for each sequence")) return finding;
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"SMLA-015", Tier::single, lengths_typed, kEverywhere, "cuSeqlensQ", "INT32, one axis, and all other lengths"},
    {"SMLA-023", Tier::existence, cu_seqlens_q_given, kEverywhere, "cuSeqlensQ", "required with layoutQ TND"},
    {"SMLA-024", Tier::existence, no_cu_seqlens_q, kEverywhere, "cuSeqlensQ", "absent with layoutQ BSND"},
    {"SMLA-025", Tier::existence, cu_seqlens_kv_given, kEverywhere, "cuSeqlensOriKv",
     "required with layoutKv TND, and cuSeqlensCmpKv with cmpKv"},
    {"SMLA-026", Tier::existence, no_cu_seqlens_kv, and_host(kAscend950), "cuSeqlensOriKv",
     "absent unless layoutKv is TND, and cuSeqlensCmpKv"},
    {"SMLA-028", Tier::existence, paged_length_given, kEverywhere, "sequsedOriKv",
     "required with PA_BBND, unless original tokens are listed without a mask"},
    {"SMLA-030", Tier::existence, paged_cmp_length_given, kAscend950, "sequsedCmpKv",
     "required with PA_BBND and cmpKv, unless both streams are listed without a mask"},
    {"SMLA-061", Tier::consistency, lengths_fit_batch, kEverywhere, "cuSeqlensQ",
     "running totals have B + 1 entries, lengths and residuals B"},
};

}  // namespace

const Group<Case> kLengthRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
