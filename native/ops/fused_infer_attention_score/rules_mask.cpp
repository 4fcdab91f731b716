// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "geometry/mask.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::SparseMode;

Finding sparse_mode_known(const Case& c) {
    const bool may_be_tree = c.call.version == 4;
    if (c.call.sparse_mode >= 0 && c.call.sparse_mode <= 4) return {};
    if (may_be_tree && c.is_tree()) return {};
    return violated("sparseMode", may_be_tree ? "0, 1, 2, 3, 4 or 9" : "0, 1, 2, 3 or 4", text(c.call.sparse_mode));
}

// Mode 1 is nothing but a tensor; modes 2 to 4 do without. Without keys a mask has no columns and counts as absent.
Finding mode_has_its_mask(const Case& c) {
    if (c.mask != nullptr || c.kv_is_empty || (c.sparse_mode() != SparseMode::all && !c.is_tree())) return {};
    return violated("attenMask", text("a mask for sparseMode ", c.call.sparse_mode), "nothing",
                    "sparseMode 0 without a mask sees all keys");
}

Finding mask_rank(const Case& c) {
    if (c.mask == nullptr || c.is_tree() || (c.mask->rank >= 2 && c.mask->rank <= 4)) return {};
    return violated("attenMask", "2, 3 or 4 axes", text("shape ", shape_text(*c.mask)));
}

Finding mask_shape(const Case& c) {
    if (!c.reads_mask() || c.is_tree() || c.call.is_largest) return {};
    const geometry::MaskExtents mask = geometry::mask_extents(c.mask->rank, c.mask->shape);
    const bool one_plane = c.mask->rank < 4 || c.mask->shape[1] == 1;
    const bool batches = mask.batches == 1 || mask.batches == c.batch;
    // Some products read (B, Skv) for single-token queries as one row a sequence; as one mask for all it is something
    // else, so neither is guessed.
    const bool ambiguous = c.mask->rank == 2 && c.longest_q == 1 && c.batch > 1 && mask.rows == c.batch;
    if (one_plane && batches && !ambiguous && mask.rows >= c.mask_rows() && mask.columns >= c.mask_columns()) return {};
    return violated("attenMask",
                    text("shape (", c.batch == 1 ? "" : text(c.batch, " or "), "1, [1,] >= ", c.mask_rows(), ", >= ",
                         c.mask_columns(), ") for sparseMode ", c.call.sparse_mode),
                    shape_text(*c.mask),
                    ambiguous ? text("give a row for each sequence as (", c.batch, ", 1, ", mask.columns, ")")
                              : std::string{});
}

Finding formula_mask_shape(const Case& c) {
    if (c.mask == nullptr || c.reads_mask()) return {};
    int64_t wanted[] = {1, 1, 2048, 2048};
    if (has_shape(*c.mask, wanted + 4 - c.mask->rank, c.mask->rank)) return {};
    return violated("attenMask", text("shape (2048, 2048) for sparseMode ", c.call.sparse_mode), shape_text(*c.mask),
                    "a mask of your own goes with sparseMode 0 or 1");
}

Finding tree_mask_shape(const Case& c) {
    if (!c.is_tree() || c.mask == nullptr || c.call.is_largest) return {};
    int64_t packed = 0;
    for (const Tokens& tokens : c.q_tokens) packed += tokens.count * tokens.count;
    const int64_t dense[] = {c.batch, c.q.tokens, c.q.tokens};
    if (c.is_packed() ? c.mask->rank == 1 && c.mask->shape[0] >= packed : has_shape(*c.mask, dense, 3)) return {};
    return violated("attenMask",
                    c.is_packed() ? text("shape (", packed, "), the sequences' squares of tokens, for sparseMode 9")
                                  : text("shape ", dims_text(dense, 3), " for sparseMode 9"),
                    shape_text(*c.mask));
}

Finding tree_within_keys(const Case& c) {
    if (!c.is_tree() || c.kv_is_empty) return {};
    for (size_t b = 0; b < c.q_tokens.size(); ++b) {
        if (c.q_tokens[b].count <= c.kv_tokens[b].count) continue;
        return violated("actualSeqLengths",
                        text("no more query tokens than the ", c.kv_tokens[b].count, " keys of sequence ", b,
                             " for sparseMode 9"),
                        text(c.q_tokens[b].count));
    }
    return {};
}

Finding tree_alone(const Case& c) {
    if (!c.is_tree()) return {};
    for (const Input input : {kPseShift, kKeySharedPrefix, kQueryPaddingSize, kKvPaddingSize}) {
        if (c.extra[input] == nullptr) continue;
        return violated(kInputNames[input], "nothing with sparseMode 9", text("shape ", shape_text(*c.extra[input])));
    }
    return {};
}

Finding window_not_empty(const Case& c) {
    const bool windowed = c.sparse_mode() == SparseMode::band || c.has_window();
    const int64_t pre = geometry::clamp_tokens(c.call.pre_tokens);
    const int64_t next = geometry::clamp_tokens(c.call.next_tokens);
    if (!windowed || -next <= pre) return {};
    return violated("nextTokens", text("at least -preTokens = ", -pre), text(next), "the window shows no column");
}

constexpr Rule<Case> kRules[] = {
    {"MASK-S-03", Tier::single, sparse_mode_known},
    {"MASK-S-04", Tier::consistency, mode_has_its_mask},
    {"MASK-C-01", Tier::consistency, mask_rank},
    {"MASK-C-04", Tier::consistency, mask_shape},
    {"MASK-C-05", Tier::consistency, formula_mask_shape},
    {"MASK-X-08", Tier::consistency, tree_mask_shape},
    {"MASK-X-08", Tier::consistency, tree_within_keys},
    {"MASK-X-08", Tier::consistency, tree_alone},
    {"MASK-C-06", Tier::consistency, window_not_empty},
};

}  // namespace

const Group<Case> kMaskRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
