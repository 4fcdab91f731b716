// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

constexpr const char* kWithoutCmp = "without cmpKv";

Finding ratio_in_range(const Case& c) {
    if (c.call.cmp_ratio >= 1 && c.call.cmp_ratio <= 128) return {};
    return invalid("cmpRatio", "1 to 128", text(c.call.cmp_ratio));
}

Finding indices_typed(const Case& c) {
    if (Finding finding = is_row_table(c, kOriSparseIndices, true, "K")) return finding;
    return cmp_indices_typed(c);
}

Finding topk_lengths_typed(const Case& c) {
    if (Finding finding = is_row_table(c, kOriTopkLength, false, "1")) return finding;
    return is_row_table(c, kCmpTopkLength, false, "1");
}

Finding nothing_compressed(const Case& c) {
    if (c.has_cmp()) return {};
    return are_excluded(c, {kCmpSparseIndices, kCmpTopkLength, kCmpResidualKv, kCmpBlockTable, kCuSeqlensCmpKv,
                            kSequsedCmpKv},
                        kWithoutCmp);
}

Finding residual_given(const Case& c) {
    if (!c.has_cmp() || c.call.cmp_mask_mode != 3 || c.call.cmp_ratio == 1) return {};
    return is_required(c, kCmpResidualKv, "with cmpKv, cmpMaskMode 3 and cmpRatio above 1",
                       "it is the number of original tokens behind the last compressed row");
}

Finding ori_topk_length_given(const Case& c) {
    if (c.ori.indices == nullptr || c.call.ori_mask_mode != 0) return {};
    return is_required(c, kOriTopkLength, "with oriSparseIndices and oriMaskMode 0");
}

Finding cmp_topk_length_given(const Case& c) {
    if (c.cmp.indices == nullptr || c.call.cmp_mask_mode != 0) return {};
    return is_required(c, kCmpTopkLength, "with cmpSparseIndices and cmpMaskMode 0");
}

Finding no_cmp_topk_length(const Case& c) {
    return is_excluded(c, kCmpTopkLength, "on this product", "-1 ends a list");
}

Finding ori_list_alone(const Case& c) {
    if (c.ori.indices != nullptr) {
        if (c.has_cmp()) return is_excluded(c, kOriSparseIndices, "with cmpKv");
        return is_required(c, kOriTopkLength, "with oriSparseIndices");
    }
    return is_excluded(c, kOriTopkLength, "without oriSparseIndices");
}

Finding no_lists_of_newer_editions(const Case& c) {
    return are_excluded(c, {kOriSparseIndices, kOriTopkLength, kCmpTopkLength},
                        "in this edition of the rules (ACL_ATTN_RULES=newest has them)");
}

// A length beside no list, or a list under a mask that does not look at it, would be passed over in silence.
Finding lengths_have_lists(const Case& c) {
    if (c.ori.indices == nullptr) {
        if (Finding finding = is_excluded(c, kOriTopkLength, "without oriSparseIndices")) return finding;
    }
    return c.cmp.indices == nullptr ? is_excluded(c, kCmpTopkLength, "without cmpSparseIndices") : Finding{};
}

Finding ratio_of_scenario(const Case& c) {
    const int64_t wanted = !c.has_cmp() ? 1 : c.cmp.indices != nullptr ? 4 : 128;
    if (c.call.cmp_ratio == wanted) return {};
    return invalid("cmpRatio",
                   text(wanted, !c.has_cmp()                ? " without cmpKv"
                                : c.cmp.indices != nullptr ? " with selected compressed rows"
                                                           : " with compressed rows"),
                   text(c.call.cmp_ratio));
}

Finding topk_of_product(const Case& c) {
    if (c.cmp.indices == nullptr || is_one_of<int64_t>(c.cmp.topk(), {512, 1024})) return {};
    return wrong_shape("cmpSparseIndices", "with lists of 512 or 1024 entries", *c.cmp.indices);
}

Finding topk_positive(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->indices == nullptr || rows->topk() > 0) continue;
        return wrong_shape(c.name(rows->indices_name), "with lists of at least one entry", *rows->indices);
    }
    return {};
}

Finding lists_fit_rows(const Case& c) {
    for (const Input input : {kCmpSparseIndices, kOriSparseIndices}) {
        if (Finding finding = row_table_shape(c, input, true)) return finding;
    }
    for (const Input input : {kOriTopkLength, kCmpTopkLength}) {
        if (Finding finding = row_table_shape(c, input, false)) return finding;
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"SMLA-010", Tier::single, ratio_in_range, kAscend950, "cmpRatio", "1 to 128"},
    {"SMLA-014", Tier::single, indices_typed, kEverywhere, "cmpSparseIndices", "INT32, (B,S,1,K) or (T,1,K)"},
    {"SMLA-019", Tier::single, topk_lengths_typed, kEverywhere, "cmpTopkLength", "INT32, (B,S,1) or (T,1)"},
    {"SMLA-032", Tier::existence, indices_without_cmp, kEverywhere, "cmpSparseIndices",
     "only with cmpKv", Known::tensors},
    {"SMLA-033", Tier::existence, nothing_compressed, and_host(kAscend950), "cmpResidualKv",
     "absent without cmpKv, as all that belongs to it", Known::tensors},
    {"SMLA-034", Tier::existence, residual_given, kEverywhere, "cmpResidualKv",
     "required with cmpKv, cmpMaskMode 3 and cmpRatio above 1", Known::tensors},
    {"SMLA-039", Tier::existence, no_lists_of_newer_editions, page_only(kProducts), "oriSparseIndices",
     "absent, and oriTopkLength, cmpTopkLength", Known::tensors},
    {"SMLA-035", Tier::existence, ori_topk_length_given, kAscend950, "oriTopkLength",
     "required with oriSparseIndices and oriMaskMode 0", Known::tensors},
    {"SMLA-036", Tier::existence, cmp_topk_length_given, kAscend950, "cmpTopkLength",
     "required with cmpSparseIndices and cmpMaskMode 0", Known::tensors},
    {"SMLA-037", Tier::existence, no_cmp_topk_length, kOlder, "cmpTopkLength", "absent", Known::tensors},
    {"SMLA-038", Tier::existence, ori_list_alone, kOlder, "oriSparseIndices",
     "without cmpKv only, with oriTopkLength", Known::tensors},
    {"HOST-E-51", Tier::existence, lengths_have_lists, and_host(kAscend950), "oriTopkLength",
     "only beside a list", Known::tensors},
    {"SMLA-054", Tier::cross, ratio_of_scenario, kOlder, "cmpRatio",
     "1 without cmpKv, 4 with lists, else 128", Known::tensors},
    {"SMLA-055", Tier::cross, topk_of_product, kOlder, "cmpSparseIndices", "512 or 1024 entries a list"},
    {"SMLA-056", Tier::cross, topk_positive, kEverywhere, "cmpSparseIndices", "at least one entry a list"},
    {"SMLA-064", Tier::consistency, lists_fit_rows, kEverywhere, "cmpSparseIndices", "a list for each row of q"},
};

}  // namespace

const Group<Case> kCompressionRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
