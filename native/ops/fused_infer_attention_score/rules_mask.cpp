// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "geometry/mask.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

using geometry::SparseMode;

Finding mask_type(const Case& c) {
    const meta::Tensor* mask = c.call.tensors[kAttenMask].tensor.get();
    if (mask == nullptr || (mask->is_empty() && mask->data == nullptr)) return {};
    if (is_one_of(mask->dtype, {ACL_BOOL, ACL_INT8, ACL_UINT8})) return {};
    return violated("attenMask", "dtype BOOL, INT8 or UINT8 (non-zero hides a key)", meta::dtype_name(mask->dtype),
                    "an additive bias goes to pseShift");
}

Finding mask_format(const Case& c) {
    if (c.mask == nullptr) return {};
    if (is_one_of(c.mask->format, {ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_NCDHW})) return {};
    return violated("attenMask", "format ND", text("format number ", static_cast<int>(c.mask->format)));
}

// A tree of drafts at the end of the keys belongs to the older products' fourth version, and to newer software.
Finding sparse_mode_known(const Case& c) {
    const bool may_be_tree = c.call.version == 4 || (!c.is_host() && c.is_newest());
    if (c.sparse_mode_number >= 0 && c.sparse_mode_number <= 4) return {};
    if (may_be_tree && c.is_tree()) return {};
    return violated("sparseMode", may_be_tree ? "0, 1, 2, 3, 4 or 9" : "0, 1, 2, 3 or 4", text(c.sparse_mode_number));
}

// Mode 1 is nothing but a tensor. Modes 2 to 4 could do without, as far as the mathematics is concerned.
Finding mode_has_its_mask(const Case& c) {
    if (c.mask != nullptr || c.kv_is_empty || c.sparse_mode_number == 0) return {};
    if (c.is_host() && c.sparse_mode() != SparseMode::all && !c.is_tree()) return {};
    const bool is_formula = c.sparse_mode_number >= 2 && c.sparse_mode_number <= 4;
    return violated("attenMask", text("a mask for sparseMode ", c.sparse_mode_number), "nothing",
                    is_formula ? "give a BOOL tensor of shape (2048, 2048) that is true above the diagonal"
                               : "sparseMode 0 without a mask sees all keys");
}

// Shapes are not looked at where the lengths have no values yet; the older products do.
bool skips_shapes(const Case& c) { return c.call.is_largest && !c.is_older(); }
bool has_ordinary_mask(const Case& c) {
    return c.mask != nullptr && !c.is_tree() && !skips_shapes(c) && (c.is_host() || !c.is_anti_decode());
}
bool is_dense_mode(const Case& c) { return c.sparse_mode_number == 0 || c.sparse_mode_number == 1; }

Finding mask_rank(const Case& c) {
    if (!has_ordinary_mask(c) || (c.mask->rank >= 2 && c.mask->rank <= 4)) return {};
    return violated("attenMask", "2, 3 or 4 axes", text("shape ", shape_text(*c.mask)));
}

Finding no_rank_2(const Case& c) {
    if (!has_ordinary_mask(c) || !is_dense_mode(c) || c.mask->rank != 2) return {};
    return violated("attenMask", text("3 or 4 axes for sparseMode ", c.sparse_mode_number),
                    text("shape ", shape_text(*c.mask)),
                    text("reshape it to (1, ", c.mask->shape[0], ", ", c.mask->shape[1], ")"));
}

bool takes_rank_2(const Case& c) {
    return c.is_gqa() && c.dim == c.dim_v && layout_is(c, {"BSH", "BSND", "BNSD", "BNSD_BSND"});
}

Finding older_rank_2(const Case& c) {
    if (!has_ordinary_mask(c) || !is_dense_mode(c) || c.mask->rank != 2 || takes_rank_2(c)) return {};
    return violated("attenMask", text("3 or 4 axes for sparseMode ", c.sparse_mode_number, " with layout ",
                                      c.layout->name, ", ropes or different head dims"),
                    text("shape ", shape_text(*c.mask)));
}

Finding dense_shape(const Case& c, int64_t rows, int64_t columns, bool is_ambiguous) {
    const geometry::MaskExtents mask = geometry::mask_extents(c.mask->rank, c.mask->shape);
    const bool one_plane = c.mask->rank < 4 || c.mask->shape[1] == 1;
    const bool batches = mask.batches == 1 || mask.batches == c.batch;
    if (one_plane && batches && !is_ambiguous && mask.rows >= rows && mask.columns >= columns) return {};
    return violated("attenMask",
                    text("shape (", c.batch == 1 ? "" : text(c.batch, " or "), "1, [1,] >= ", rows, ", >= ", columns,
                         ") for sparseMode ", c.sparse_mode_number),
                    shape_text(*c.mask),
                    is_ambiguous ? text("give a row for each sequence as (", c.batch, ", 1, ", mask.columns, ")")
                                 : std::string{});
}

bool is_masklike(const meta::Tensor& mask) { return mask.rank >= 2 && mask.rank <= 4; }

Finding mask_shape(const Case& c) {
    if (!has_ordinary_mask(c) || !is_dense_mode(c) || !is_masklike(*c.mask)) return {};
    if (!c.is_host()) {
        const int64_t keys = c.is_paged() ? c.product_kv : c.longest_kv;
        return dense_shape(c, c.product_q, c.prefix_len + keys, false);
    }
    // Some products read (B, Skv) for single-token queries as one row a sequence; as one mask for all it is something
    // else, so neither is guessed.
    const bool is_ambiguous =
        c.mask->rank == 2 && c.longest_q == 1 && c.batch > 1 && c.mask->shape[0] == c.batch;
    return dense_shape(c, c.mask_rows(), c.mask_columns(), is_ambiguous);
}

Finding formula_mask_shape(const Case& c) {
    if (!has_ordinary_mask(c) || is_dense_mode(c) || c.mask->rank > 4) return {};
    int64_t wanted[] = {1, 1, 2048, 2048};
    if (c.mask->rank >= 2 && has_shape(*c.mask, wanted + 4 - c.mask->rank, c.mask->rank)) return {};
    return violated("attenMask", text("shape (2048, 2048) for sparseMode ", c.sparse_mode_number), shape_text(*c.mask),
                    "a mask of your own goes with sparseMode 0 or 1");
}

Finding decode_mask_shape(const Case& c) {
    if (c.mask == nullptr || !c.is_anti_decode() || skips_shapes(c) || c.is_tree()) return {};
    const bool may_be_2 = c.is_older() && c.mask->rank == 2 && takes_rank_2(c);
    if (c.mask->rank != 3 && c.mask->rank != 4 && !may_be_2) {
        return violated("attenMask", "3 or 4 axes for single tokens over keys of another type",
                        text("shape ", shape_text(*c.mask)));
    }
    const int64_t keys = c.is_paged() ? c.product_kv : c.longest_kv;
    return dense_shape(c, c.product_q, c.prefix_len + keys, false);
}

Finding window_not_empty(const Case& c) {
    const bool is_windowed = c.sparse_mode() == SparseMode::band || c.has_window();
    const int64_t pre = geometry::clamp_tokens(c.pre_tokens);
    const int64_t next = geometry::clamp_tokens(c.next_tokens);
    if (!is_windowed || -next <= pre) return {};
    return violated("nextTokens", text("at least -preTokens = ", -pre), text(next), "the window shows no column");
}

Finding int8_band_forward(const Case& c) {
    if (!c.is_anti() || c.product_q <= 1 || c.sparse_mode_number != 4 || c.out->dtype != ACL_INT8) return {};
    if (c.pre_tokens < 0) return violated("preTokens", "0 or more with an INT8 output", text(c.pre_tokens));
    if (c.next_tokens < 0) return violated("nextTokens", "0 or more with an INT8 output", text(c.next_tokens));
    return {};
}

Finding mode_refused(const Case& c, const char* allowed, const char* with) {
    return violated("sparseMode", text(allowed, " ", with), text(c.sparse_mode_number));
}

Finding decode_mla_mode(const Case& c) {
    if (!c.is_decode_mla() || !c.is_plain_quant() || is_one_of(c.sparse_mode_number, {0, 3, 4, 9})) return {};
    return mode_refused(c, "0, 3 or 4", "in decode MLA");
}

Finding different_dims_mode(const Case& c) {
    if (!c.is_gqa() || !c.is_dim_different() || is_one_of(c.sparse_mode_number, {0, 2, 3})) return {};
    return mode_refused(c, "0, 2 or 3", "where head dims differ between query and value");
}

Finding none_or_causal(const Case& c, const char* with) {
    const bool fits = c.mask == nullptr ? c.sparse_mode_number == 0 : c.sparse_mode_number == 3;
    if (fits) return {};
    return mode_refused(c, c.mask == nullptr ? "0 without a mask" : "3 with a mask", with);
}

Finding quant_mla_mode(const Case& c) {
    return c.is_decode_mla() && c.is_full_quant() ? none_or_causal(c, "in fully quantised decode MLA") : Finding{};
}

Finding int8_mla_mode(const Case& c) {
    if (!c.is_decode_mla() || c.query->dtype != ACL_INT8 || !c.is_full_quant() || layout_is(c, {"TND", "TND_NTD"})) {
        return {};
    }
    if (c.product_q == 1 ? c.mask == nullptr && c.sparse_mode_number == 0
                         : c.mask != nullptr && c.sparse_mode_number == 3) {
        return {};
    }
    return mode_refused(c, c.product_q == 1 ? "0, and no mask," : "3 with a mask", "in INT8 decode MLA");
}

Finding anti_decode_mode(const Case& c) {
    if (!c.is_anti_decode() || c.sparse_mode_number == 0) return {};
    return mode_refused(c, "0", "for single tokens over keys of another type");
}

Finding mx_mode(const Case& c) {
    return c.quantisation == Quantisation::mx_f8 ? none_or_causal(c, "with modes 6, 6, 8") : Finding{};
}
Finding gqa_f8_mode(const Case& c) {
    return c.quantisation == Quantisation::gqa_f8 ? none_or_causal(c, "with modes 3, 3, 2") : Finding{};
}

Finding tree_shape(const Case& c) {
    if (c.call.is_largest) return {};
    int64_t packed = 0;
    for (const Tokens& tokens : c.q_tokens) packed += tokens.count * tokens.count;
    const int64_t dense[] = {c.batch, c.q.tokens, c.q.tokens};
    if (!c.is_host()) {
        const int rank = c.is_packed() ? 1 : 3;
        if (c.mask->rank == rank) return {};
        return violated("attenMask", text(rank, rank == 1 ? " axis" : " axes", " for sparseMode 9"),
                        text("shape ", shape_text(*c.mask)));
    }
    if (c.is_packed() ? c.mask->rank == 1 && c.mask->shape[0] >= packed : has_shape(*c.mask, dense, 3)) return {};
    return violated("attenMask",
                    c.is_packed() ? text("shape (", packed, "), the sequences' squares of tokens, for sparseMode 9")
                                  : text("shape ", dims_text(dense, 3), " for sparseMode 9"),
                    shape_text(*c.mask));
}

Finding tree(const Case& c) {
    if (!c.is_tree() || c.kv_is_empty) return {};
    if (Finding f = first_excluded(c, {kPseShift, kKeySharedPrefix, kQueryPaddingSize, kKvPaddingSize},
                                   "sparseMode 9")) {
        return f;
    }
    if (!c.is_host() && c.rope != Rope::split) {
        return violated("queryRope", "a tensor, and keyRope another, with sparseMode 9", "nothing");
    }
    if (!c.is_host() && c.out->dtype == ACL_INT8) {
        return dtype_refused("attentionOut", "FLOAT16 or BF16 with sparseMode 9", c.out->dtype);
    }
    if (c.mask != nullptr) {
        if (Finding f = tree_shape(c)) return f;
    }
    for (size_t b = 0; b < c.q_tokens.size(); ++b) {
        if (c.q_tokens[b].count <= c.kv_tokens[b].count) continue;
        return violated("actualSeqLengths",
                        text("no more query tokens than the ", c.kv_tokens[b].count, " keys of sequence ", b,
                             " for sparseMode 9"),
                        text(c.q_tokens[b].count));
    }
    return {};
}

constexpr Scope kOlderAndHost = and_host(kOlder);

constexpr Rule<Case> kRules[] = {
    {"MASK-S-01", Tier::single, mask_type, kEverywhere, "attenMask",
     "attenMask is BOOL, INT8 or UINT8, even if it has no elements", Known::tensors, kTypeStatus},
    {"MASK-S-02", Tier::single, mask_format, kEverywhere, "attenMask",
     "the format is ND, NCHW, NHWC or NCDHW, which all count as ND", Known::tensors, ACLNN_ERR_PARAM_INVALID},
    {"MASK-S-03", Tier::single, sparse_mode_known, kEverywhere, "sparseMode",
     "sparseMode is 0 to 4; newest software and the fourth version also know 9"},
    {"MASK-X-01", Tier::cross, decode_mla_mode, kProducts, "sparseMode",
     "decode MLA that is not quantised has sparseMode 0, 3 or 4"},
    {"MASK-X-02", Tier::cross, different_dims_mode, kProducts, "sparseMode",
     "where value's head dim differs, sparseMode is 0, 2 or 3"},
    {"MASK-X-03", Tier::cross, quant_mla_mode, kProducts, "sparseMode, attenMask",
     "fully quantised decode MLA has sparseMode 0 without a mask, or 3 with one"},
    {"MASK-X-04", Tier::cross, int8_mla_mode, kProducts, "sparseMode, attenMask",
     "INT8 decode MLA that is not packed has no mask for single tokens, and sparseMode 3 with a mask for several"},
    {"MASK-X-05", Tier::cross, anti_decode_mode, newest_only(kProducts), "sparseMode",
     "single tokens over keys of another type have sparseMode 0"},
    {"MASK-X-06", Tier::cross, mx_mode, newest_only(kProducts), "sparseMode, attenMask",
     "modes 6, 6, 8 have sparseMode 0 without a mask, or 3 with one"},
    {"MASK-X-07", Tier::cross, gqa_f8_mode, newest_only(kProducts), "sparseMode, attenMask",
     "modes 3, 3, 2 have sparseMode 0 without a mask, or 3 with one"},
    {"MASK-X-08", Tier::cross, tree, kOlderAndHost, "sparseMode",
     "sparseMode 9 has ropes, no padding, no bias, no prefix, no INT8 output, a mask of 1 axis (packed) or 3, and no "
     "sequence with more query tokens than keys", Known::lengths},
    {"MASK-S-04", Tier::consistency, mode_has_its_mask, kEverywhere, "sparseMode, attenMask",
     "without a mask, sparseMode is 0; profile host only wants a mask for modes 1 and 9"},
    {"MASK-C-01", Tier::consistency, mask_rank, kEverywhere, "attenMask", "a mask has 2, 3 or 4 axes"},
    {"MASK-C-06", Tier::consistency, window_not_empty, kEverywhere, "preTokens, nextTokens",
     "the window shows a column: -nextTokens is at most preTokens"},
    {"MASK-C-02", Tier::consistency, no_rank_2, kAscend950, "attenMask", "for sparseMode 0 and 1 it has 3 or 4"},
    {"MASK-C-03", Tier::consistency, older_rank_2, kOlder, "attenMask",
     "for sparseMode 0 and 1 it has 2 axes only without ropes, with equal head dims, and in layouts BSH, BSND, BNSD "
     "and BNSD_BSND"},
    {"MASK-C-04", Tier::consistency, mask_shape, kEverywhere, "attenMask",
     "for sparseMode 0 and 1 the mask covers all query tokens and all keys, prefix included, once or for each "
     "sequence", Known::lengths},
    {"MASK-C-05", Tier::consistency, formula_mask_shape, kEverywhere, "attenMask",
     "for sparseMode 2 to 4 its last two axes are 2048, the ones before them 1"},
    {"MASK-C-07", Tier::consistency, decode_mask_shape, kProducts, "attenMask",
     "for single tokens over keys of another type the mask has 3 or 4 axes and covers all keys, or all columns of "
     "blockTable", Known::lengths},
    {"MASK-C-08", Tier::consistency, int8_band_forward, kProducts, "preTokens, nextTokens",
     "with keys of another type, several query tokens, sparseMode 4 and an INT8 output, neither is negative"},
};

}  // namespace

const Group<Case> kMaskRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
