// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The metadata operator's rules about pointers and numbers, SMLA-M01 to M13 and M24.
#include <iterator>

#include "ops/sparse_attention/rules_metadata.h"
#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/visibility.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

using Case = MetadataCase;

Finding sizes_in_range(const Case& c) {
    const struct {
        const char* name;
        int64_t value;
    } sizes[] = {{"batchSize", c.call.batch_size},
                 {"maxSeqlenQ", c.call.max_seqlen_q},
                 {"maxSeqlenOriKv", c.call.max_seqlen_ori_kv},
                 {"maxSeqlenCmpKv", c.call.max_seqlen_cmp_kv}};
    for (const auto& [name, value] : sizes) {
        if (value < 0 || value > INT32_MAX) return invalid(name, "0 to 2147483647", text(value));
    }
    return {};
}

Finding ratio_power_of_two(const Case& c) {
    if (c.call.num_heads_kv < 1 || is_power_of_two(c.call.num_heads_q / c.call.num_heads_kv)) return {};
    return invalid("numHeadsQ", "a power of two", text(c.call.num_heads_q));
}

Finding head_dim_is_512(const Case& c) {
    return c.call.head_dim == 512 ? Finding{} : invalid("headDim", "512", text(c.call.head_dim));
}

Finding ori_topk_in_range(const Case& c) {
    if (!c.call.has_ori_kv || (c.call.ori_topk >= 0 && c.call.ori_topk <= INT32_MAX)) return {};
    return invalid("oriTopk", "0 to 2147483647", text(c.call.ori_topk));
}

Finding ori_list_alone(const Case& c) {
    if (!c.call.has_ori_kv || !c.call.has_cmp_kv || c.call.ori_topk == 0) return {};
    return invalid("oriTopk", "0 with hasCmpKv", text(c.call.ori_topk));
}

Finding ori_mode_known(const Case& c) {
    if (!c.call.has_ori_kv || is_one_of<int64_t>(c.call.ori_mask_mode, {kNoMask, kCausalMask, kBandMask})) return {};
    return invalid("oriMaskMode", "0 (none), 3 (causal) or 4 (band)", text(c.call.ori_mask_mode));
}

Finding windows_in_range(const Case& c) {
    if (!c.call.has_ori_kv) return {};
    if (c.call.ori_win_left < -1) return invalid("oriWinLeft", "-1 (no limit) or more", text(c.call.ori_win_left));
    if (c.call.ori_win_right >= -1) return {};
    return invalid("oriWinRight", "-1 (no limit) or more", text(c.call.ori_win_right));
}

Finding window_of_product(const Case& c) {
    if (!c.call.has_ori_kv) return {};
    const bool is_listed = c.call.ori_topk != 0;
    const bool fits =
        is_listed ? c.call.ori_mask_mode == kNoMask && c.call.ori_win_left >= 0 && c.call.ori_win_right >= 0
                  : c.call.ori_mask_mode == kBandMask && c.call.ori_win_left == 127 && c.call.ori_win_right == 0;
    if (fits) return {};
    return invalid(
        "oriMaskMode",
        is_listed ? "0 with windows of 0 or more, as oriTopk is not 0" : "4 with oriWinLeft 127 and oriWinRight 0",
        text("oriMaskMode ", c.call.ori_mask_mode, ", oriWinLeft ", c.call.ori_win_left, ", oriWinRight ",
             c.call.ori_win_right));
}

Finding cmp_topk_in_range(const Case& c) {
    if (!c.call.has_cmp_kv || (c.call.cmp_topk >= 0 && c.call.cmp_topk <= INT32_MAX)) return {};
    return invalid("cmpTopk", "0 to 2147483647", text(c.call.cmp_topk));
}

Finding cmp_topk_of_product(const Case& c) {
    if (!c.call.has_cmp_kv || is_one_of<int64_t>(c.call.cmp_topk, {0, 512, 1024})) return {};
    return invalid("cmpTopk", "0, 512 or 1024", text(c.call.cmp_topk));
}

Finding cmp_mode_known(const Case& c) {
    if (!c.call.has_cmp_kv || is_one_of<int64_t>(c.call.cmp_mask_mode, {kNoMask, kCausalMask})) return {};
    return invalid("cmpMaskMode", "0 (none) or 3 (causal)", text(c.call.cmp_mask_mode));
}

Finding cmp_causal(const Case& c) {
    if (!c.call.has_cmp_kv || c.call.cmp_mask_mode == kCausalMask) return {};
    return invalid("cmpMaskMode", "3 with hasCmpKv", text(c.call.cmp_mask_mode));
}

Finding ratio_in_range(const Case& c) {
    if (!c.call.has_cmp_kv || (c.call.cmp_ratio >= 1 && c.call.cmp_ratio <= 128)) return {};
    return invalid("cmpRatio", "1 to 128", text(c.call.cmp_ratio));
}

Finding ratio_positive(const Case& c) {
    if (!c.call.has_cmp_kv || (c.call.cmp_ratio >= 1 && c.call.cmp_ratio <= INT32_MAX)) return {};
    return invalid("cmpRatio", "1 or more", text(c.call.cmp_ratio));
}

Finding ratio_of_scenario(const Case& c) {
    const int64_t wanted = !c.call.has_cmp_kv ? 1 : c.call.cmp_topk > 0 ? 4 : 128;
    if (c.call.cmp_ratio == wanted) return {};
    return invalid("cmpRatio",
                   text(wanted, !c.call.has_cmp_kv    ? " without hasCmpKv"
                                : c.call.cmp_topk > 0 ? " with lists"
                                                      : " without lists"),
                   text(c.call.cmp_ratio));
}

Finding layouts_known(const Case& c) {
    if (c.call.layout_q == nullptr) return invalid("layoutQ", "BSND or TND", "a null pointer");
    if (c.call.layout_kv == nullptr) return invalid("layoutKv", "BSND, TND or PA_BBND", "a null pointer");
    if (c.layout_q == Layout::unknown) return invalid("layoutQ", "BSND or TND", c.call.layout_q);
    if (c.layout_kv == Layout::unknown) return invalid("layoutKv", "BSND, TND or PA_BBND", c.call.layout_kv);
    if (c.is_paged() || c.layout_q == c.layout_kv) return {};
    return invalid("layoutKv", text(c.call.layout_q, ", as layoutQ, or PA_BBND"), c.call.layout_kv);
}

Finding axes_given(const Case& c) {
    if (c.layout_q == Layout::bsnd && c.call.max_seqlen_q <= 0) {
        return invalid("maxSeqlenQ", "the token axis of q, 1 or more, with layoutQ BSND", text(c.call.max_seqlen_q));
    }
    if (c.layout_kv != Layout::bsnd) return {};
    if (c.call.has_ori_kv && c.call.max_seqlen_ori_kv <= 0) {
        return invalid("maxSeqlenOriKv", "the token axis of oriKv, 1 or more, with layoutKv BSND",
                       text(c.call.max_seqlen_ori_kv));
    }
    if (!c.call.has_cmp_kv || c.call.max_seqlen_cmp_kv > 0) return {};
    return invalid("maxSeqlenCmpKv", "the token axis of cmpKv, 1 or more, with layoutKv BSND",
                   text(c.call.max_seqlen_cmp_kv));
}

constexpr Rule<Case> kRules[] = {
    required("SMLA-M01", metadata_out_pointers_given, "workspaceSize", "required, and executor",
             ACLNN_ERR_INNER_NULLPTR),
    required("SMLA-M24", metadata_output_given, "metaData"),
    {"HOST-F-51", Tier::front, handles_live, kEverywhere, "", "handles are live"},
    {"SMLA-M02", Tier::single, sizes_in_range, kEverywhere, "batchSize", "0 or more, and maxSeqlenQ, -OriKv, -CmpKv"},
    {"SMLA-M03", Tier::single, metadata_heads_in_range, kEverywhere, "numHeadsQ", "1 to 128, numHeadsKv 1"},
    {"SMLA-M03", Tier::single, ratio_power_of_two, kOlder, "numHeadsQ", "a power of two"},
    {"SMLA-M04", Tier::single, head_dim_is_512, kEverywhere, "headDim", "512"},
    {"SMLA-M05", Tier::single, ori_topk_in_range, kEverywhere, "oriTopk", "0 to 2147483647"},
    {"SMLA-M05", Tier::single, ori_list_alone, kOlder, "oriTopk", "0 with hasCmpKv"},
    {"SMLA-M06", Tier::single, ori_mode_known, and_host(kAscend950), "oriMaskMode", "0, 3 or 4"},
    {"SMLA-M06", Tier::single, windows_in_range, and_host(kAscend950), "oriWinLeft", "-1 or more, and oriWinRight"},
    {"SMLA-M07", Tier::single, window_of_product, kOlder, "oriMaskMode",
     "4, 127, 0; with oriTopk 0, windows of 0 or more"},
    {"SMLA-M08", Tier::single, cmp_topk_in_range, kEverywhere, "cmpTopk", "0 to 2147483647"},
    {"SMLA-M08", Tier::single, cmp_topk_of_product, kOlder, "cmpTopk", "0, 512 or 1024"},
    {"SMLA-M09", Tier::single, cmp_mode_known, and_host(kAscend950), "cmpMaskMode", "0 or 3"},
    {"SMLA-M09", Tier::single, cmp_causal, kOlder, "cmpMaskMode", "3"},
    {"SMLA-M10", Tier::single, ratio_in_range, kAscend950, "cmpRatio", "1 to 128"},
    {"SMLA-M10", Tier::single, ratio_of_scenario, kOlder, "cmpRatio", "1 without hasCmpKv, 4 with lists, else 128"},
    {"HOST-S-51", Tier::single, ratio_positive, kHostOnly, "cmpRatio", "1 or more"},
    {"SMLA-M11", Tier::single, layouts_known, kEverywhere, "layoutQ", "BSND or TND; layoutKv the same or PA_BBND"},
    {"SMLA-M12", Tier::single, axes_given, kProducts, "maxSeqlenQ",
     "1 or more for what is BSND, and maxSeqlenOriKv, -CmpKv"},
    {"SMLA-M13", Tier::single, core_counts_fit, kEverywhere, "device",
     "1 to 36 cube and 72 vector cores, 2 with 128 heads"},
};

const Group<Case> kGroups[] = {{kRules, std::size(kRules)}, kMetadataLengthRules, kMetadataHostRules};

}  // namespace

const Catalogue<MetadataCase> kMetadataCatalogue{kGroups, std::size(kGroups)};

}  // namespace acl_attn::ops::sparse::mla
