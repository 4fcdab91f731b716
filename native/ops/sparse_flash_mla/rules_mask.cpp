// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/visibility.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

std::string window_text(const Call& call) {
    return text("oriMaskMode ", call.ori_mask_mode, ", oriWinLeft ", call.ori_win_left, ", oriWinRight ",
                call.ori_win_right);
}

Finding ori_mode_known(const Case& c) {
    if (is_one_of<int64_t>(c.call.ori_mask_mode, {kNoMask, kCausalMask, kBandMask})) return {};
    return invalid("oriMaskMode", "0 (none), 3 (causal) or 4 (band)", text(c.call.ori_mask_mode));
}

Finding cmp_mode_known(const Case& c) {
    if (is_one_of<int64_t>(c.call.cmp_mask_mode, {kNoMask, kCausalMask})) return {};
    return invalid("cmpMaskMode", "0 (none) or 3 (causal)", text(c.call.cmp_mask_mode));
}

Finding windows_in_range(const Case& c) {
    if (c.call.ori_win_left < -1) return invalid("oriWinLeft", "-1 (no limit) or more", text(c.call.ori_win_left));
    if (c.call.ori_win_right >= -1) return {};
    return invalid("oriWinRight", "-1 (no limit) or more", text(c.call.ori_win_right));
}

Finding window_of_product(const Case& c) {
    if (c.ori.indices != nullptr) return {};
    if (c.call.ori_mask_mode == kBandMask && c.call.ori_win_left == 127 && c.call.ori_win_right == 0) return {};
    return invalid("oriMaskMode", "4 with oriWinLeft 127 and oriWinRight 0", window_text(c.call));
}

Finding no_window_over_lists(const Case& c) {
    if (c.ori.indices == nullptr) return {};
    if (c.call.ori_mask_mode == kNoMask && c.call.ori_win_left >= 0 && c.call.ori_win_right >= 0) return {};
    return invalid("oriMaskMode", "0 with windows of 0 or more, as there are oriSparseIndices", window_text(c.call));
}

// A list is not looked at through a mask.
Finding lists_without_mask(const Case& c) {
    if (c.ori.indices == nullptr || c.call.ori_mask_mode == kNoMask) return {};
    return invalid("oriMaskMode", "0, as there are oriSparseIndices", text(c.call.ori_mask_mode));
}

Finding compressed_causal(const Case& c) {
    if (!c.has_cmp() || c.call.cmp_mask_mode == kCausalMask) return {};
    return invalid("cmpMaskMode", "3 with cmpKv", text(c.call.cmp_mask_mode));
}

Finding windows_belong_to_band(const Case& c) {
    if (c.call.ori_mask_mode == kBandMask || (c.call.ori_win_left == -1 && c.call.ori_win_right == -1)) return {};
    return invalid("oriWinLeft", "-1, and oriWinRight, unless oriMaskMode is 4", window_text(c.call));
}

Finding nothing_compressed(const Case& c) {
    if (c.has_cmp()) return {};
    if (c.call.cmp_mask_mode != kNoMask) return invalid("cmpMaskMode", "0 without cmpKv", text(c.call.cmp_mask_mode));
    return c.call.cmp_ratio == 1 ? Finding{} : invalid("cmpRatio", "1 without cmpKv", text(c.call.cmp_ratio));
}

constexpr Rule<Case> kRules[] = {
    {"SMLA-011", Tier::single, ori_mode_known, and_host(kAscend950), "oriMaskMode", "0, 3 or 4"},
    {"SMLA-012", Tier::single, cmp_mode_known, and_host(kAscend950), "cmpMaskMode", "0 or 3"},
    {"SMLA-013", Tier::single, windows_in_range, kEverywhere, "oriWinLeft", "-1 or more, and oriWinRight"},
    {"SMLA-049", Tier::cross, window_of_product, kOlder, "oriMaskMode",
     "4, 127, 0 without oriSparseIndices", Known::tensors},
    {"SMLA-050", Tier::cross, no_window_over_lists, kOlder, "oriMaskMode",
     "0, windows of 0 or more with oriSparseIndices", Known::tensors},
    {"SMLA-051", Tier::cross, compressed_causal, kOlder, "cmpMaskMode", "3 with cmpKv", Known::tensors},
    {"SMLA-052", Tier::cross, windows_belong_to_band, and_host(kAscend950), "oriWinLeft",
     "-1 unless oriMaskMode is 4, and oriWinRight", Known::tensors},
    {"SMLA-053", Tier::cross, nothing_compressed, kAscend950, "cmpMaskMode",
     "0 without cmpKv, and cmpRatio 1", Known::tensors},
    {"HOST-X-54", Tier::cross, lists_without_mask, kEverywhere, "oriMaskMode",
     "0 with oriSparseIndices", Known::tensors},
};

}  // namespace

const Group<Case> kMaskRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
