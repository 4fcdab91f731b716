// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The metadata operator's rules about tensors, SMLA-M20 to M32.
#include <iterator>

#include "ops/sparse_attention/rules_metadata.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/visibility.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

using Case = MetadataCase;

Finding cu_seqlens_given(const Case& c) {
    if (c.is_packed_q()) {
        if (Finding finding = is_required(c, kCuSeqlensQ, "with layoutQ TND")) return finding;
    }
    if (c.layout_kv != Layout::tnd) return {};
    if (c.call.has_ori_kv) {
        if (Finding finding = is_required(c, kCuSeqlensOriKv, "with hasOriKv and layoutKv TND")) return finding;
    }
    return c.call.has_cmp_kv ? is_required(c, kCuSeqlensCmpKv, "with hasCmpKv and layoutKv TND") : Finding{};
}

Finding paged_lengths(const Case& c, bool lists_need_none) {
    if (!c.is_paged()) return {};
    const auto needed = [&](int64_t mask_mode, int64_t topk) {
        return !(lists_need_none && mask_mode == kNoMask && topk != 0);
    };
    if (c.call.has_ori_kv && needed(c.call.ori_mask_mode, c.call.ori_topk)) {
        if (Finding finding = is_required(c, kSequsedOriKv, "with hasOriKv and layoutKv PA_BBND")) return finding;
    }
    if (!c.call.has_cmp_kv || !needed(c.call.cmp_mask_mode, c.call.cmp_topk)) return {};
    return is_required(c, kSequsedCmpKv, "with hasCmpKv and layoutKv PA_BBND");
}
Finding paged_lengths_given(const Case& c) { return paged_lengths(c, false); }
Finding paged_lengths_given_but_for_lists(const Case& c) { return paged_lengths(c, true); }

// Without lists, the length of a compressed stream decides how much there is to do.
Finding paged_lengths_that_decide(const Case& c) {
    if (!c.is_paged()) return {};
    if (c.call.has_ori_kv && c.call.ori_topk == 0) {
        if (Finding finding = is_required(c, kSequsedOriKv, "with hasOriKv and layoutKv PA_BBND")) return finding;
    }
    if (!c.call.has_cmp_kv || c.call.cmp_topk != 0) return {};
    return is_required(c, kSequsedCmpKv, "with hasCmpKv, layoutKv PA_BBND and no lists");
}

Finding residual_given(const Case& c) {
    if (!c.call.has_cmp_kv || c.call.cmp_ratio == 1 || c.call.cmp_mask_mode != kCausalMask) return {};
    return is_required(c, kCmpResidualKv, "with hasCmpKv, cmpMaskMode 3 and cmpRatio above 1");
}

Finding topk_lengths_given(const Case& c) {
    if (c.call.has_ori_kv && c.call.ori_topk != 0 && c.call.ori_mask_mode == kNoMask) {
        if (Finding finding = is_required(c, kOriTopkLength, "with oriTopk and oriMaskMode 0")) return finding;
    }
    if (!c.call.has_cmp_kv || c.call.cmp_topk == 0 || c.call.cmp_mask_mode != kNoMask) return {};
    return is_required(c, kCmpTopkLength, "with cmpTopk and cmpMaskMode 0");
}

Finding no_cmp_topk_length(const Case& c) {
    return is_excluded(c, kCmpTopkLength, "on this product", "-1 ends a list");
}

Finding lengths_typed(const Case& c) {
    if (Finding finding = are_int_vectors(c, {kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv,
                                              kSequsedCmpKv, kCmpResidualKv})) {
        return finding;
    }
    if (Finding finding = is_row_table(c, kOriTopkLength, false, "1")) return finding;
    return is_row_table(c, kCmpTopkLength, false, "1");
}

Finding batches_agree(const Case& c) {
    const auto same = [&](Input used, Input totals, bool is_packed) -> Finding {
        if (Finding finding = has_length(c, used, c.batch, "one for each sequence")) return finding;
        return is_packed ? has_length(c, totals, c.batch + 1, "one more than sequences") : Finding{};
    };
    if (Finding finding = same(kSequsedQ, kCuSeqlensQ, c.is_packed_q())) return finding;
    const bool is_packed_kv = c.layout_kv == Layout::tnd;
    if (Finding finding = same(kSequsedOriKv, kCuSeqlensOriKv, is_packed_kv)) return finding;
    if (Finding finding = same(kSequsedCmpKv, kCuSeqlensCmpKv, is_packed_kv)) return finding;
    return has_length(c, kCmpResidualKv, c.batch, "one for each sequence");
}

Finding topk_length_axes(const Case& c) {
    for (const Input input : {kOriTopkLength, kCmpTopkLength}) {
        const meta::Tensor* tensor = c.in[input];
        if (tensor == nullptr) continue;
        const int64_t unpacked[] = {c.batch, c.call.max_seqlen_q, 1};
        const int64_t packed[] = {extent(tensor, 0), 1};
        const int64_t* wanted = c.is_packed_q() ? packed : unpacked;
        const int rank = c.is_packed_q() ? 2 : 3;
        if (!has_shape(*tensor, wanted, rank)) return wrong_shape(c.name(input), dims_text(wanted, rank), *tensor);
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"SMLA-M20", Tier::existence, cu_seqlens_given, kEverywhere, "cuSeqlensQ",
     "required with TND, and cuSeqlensOriKv, -CmpKv"},
    {"SMLA-M21", Tier::existence, paged_lengths_given, kOlder, "sequsedOriKv",
     "required with PA_BBND, and sequsedCmpKv"},
    {"SMLA-M21", Tier::existence, paged_lengths_given_but_for_lists, kAscend950, "sequsedOriKv",
     "required with PA_BBND, and sequsedCmpKv, unless listed without a mask"},
    {"SMLA-M21", Tier::existence, paged_lengths_that_decide, kHostOnly, "sequsedOriKv",
     "required with PA_BBND, and sequsedCmpKv, unless listed"},
    {"SMLA-M22", Tier::existence, residual_given, kEverywhere, "cmpResidualKv",
     "required with hasCmpKv, cmpMaskMode 3 and cmpRatio above 1", Known::tensors},
    {"SMLA-M23", Tier::existence, topk_lengths_given, kProducts, "oriTopkLength",
     "required with oriTopk and oriMaskMode 0, and cmpTopkLength", Known::tensors},
    {"SMLA-M25", Tier::existence, no_cmp_topk_length, kOlder, "cmpTopkLength", "absent", Known::tensors},
    {"SMLA-M30", Tier::consistency, lengths_typed, kEverywhere, "cuSeqlensQ",
     "INT32, one axis, and all lengths; topk lengths (B,S,1) or (T,1)"},
    {"SMLA-M30", Tier::consistency, metadata_output_typed, kEverywhere, "metaData", "INT32, (1024)"},
    {"SMLA-M31", Tier::consistency, batches_agree, kEverywhere, "sequsedQ", "one number of sequences everywhere"},
    {"SMLA-M32", Tier::consistency, topk_length_axes, kEverywhere, "oriTopkLength",
     "one number for each row, and cmpTopkLength"},
};

}  // namespace

const Group<MetadataCase> kMetadataLengthRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
