// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/kv_quant_sparse_attn_sharedkv/rules.h"

#include <iterator>

#include "ops/kv_quant_sparse_attn_sharedkv/row_bytes.h"
#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/visibility.h"

namespace acl_attn::ops::sparse::kvq {
namespace {

Finding lse_given(const Case& c) {
    if (c.call.outputs[kSoftmaxLse].handle != nullptr) return {};
    return missing(output_name(kSoftmaxLse), "an aclTensor, even where returnSoftmaxLse is false");
}

Finding product_has_it(const Case&) {
    return invalid("device", "an Ascend950, the only product with this operator", "an older one");
}

Finding q_type(const Case& c) {
    if (c.q->dtype != ACL_BF16) return invalid("q", "dtype BF16", meta::dtype_name(c.q->dtype));
    return c.q->format == ACL_FORMAT_ND ? Finding{} : invalid("q", "format ND", text("format ", int(c.q->format)));
}

Finding q_not_empty(const Case& c) {
    return c.q->is_empty() ? wrong_shape("q", "without empty axes", *c.q) : Finding{};
}

Finding rows_type(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || is_one_of(rows->tensor->dtype, {ACL_FLOAT8_E4M3FN, ACL_HIFLOAT8})) continue;
        return invalid(c.name(rows->name), "dtype FLOAT8_E4M3FN or HIFLOAT8", meta::dtype_name(rows->tensor->dtype));
    }
    return {};
}

Finding is_value(const char* name, int64_t got, int64_t wanted, const char* meaning) {
    return got == wanted ? Finding{} : invalid(name, text(wanted, meaning), text(got));
}
Finding quant_mode_known(const Case& c) { return is_value("kvQuantMode", c.call.kv_quant_mode, 1, ", scales a tile"); }
Finding tile_size_known(const Case& c) { return is_value("tileSize", c.call.tile_size, 64, " channels"); }
Finding rope_dim_known(const Case& c) { return is_value("ropeHeadDim", c.call.rope_head_dim, 64, " channels"); }

Finding layout_kv_known(const Case& c) {
    return c.is_paged() ? Finding{} : invalid("layoutKv", "PA_ND", c.call.layout_kv);
}

Finding rows_rank(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->tensor->rank == 4) continue;
        return wrong_shape(c.name(rows->name), axes_of(Layout::paged), *rows->tensor);
    }
    return {};
}

Finding masks_known(const Case& c) {
    if (Finding finding = is_value("oriMaskMode", c.call.ori_mask_mode, kBandMask, ", band")) return finding;
    return is_value("cmpMaskMode", c.call.cmp_mask_mode, kCausalMask, ", causal");
}

Finding window_of_page(const Case& c) {
    if (Finding finding = is_value("oriWinLeft", c.call.ori_win_left, 127, " earlier tokens")) return finding;
    return is_value("oriWinRight", c.call.ori_win_right, 0, " later tokens");
}

Finding window_in_range(const Case& c) {
    if (c.call.ori_win_left < 0) return invalid("oriWinLeft", "0 or more earlier tokens", text(c.call.ori_win_left));
    return is_value("oriWinRight", c.call.ori_win_right, 0, " later tokens");
}

Finding lengths_typed(const Case& c) { return are_int_vectors(c, {kCuSeqlensQ, kSequsedOriKv}); }

Finding block_strides_positive(const Case& c) {
    if (c.call.ori_block_stride < 0) return invalid("oriKvStride0", "0 or more", text(c.call.ori_block_stride));
    return c.call.cmp_block_stride < 0 ? invalid("cmpKvStride0", "0 or more", text(c.call.cmp_block_stride))
                                       : Finding{};
}

Finding no_kv_totals(const Case& c) {
    return are_excluded(c, {kCuSeqlensOriKv, kCuSeqlensCmpKv}, "with layoutKv PA_ND");
}

Finding no_ori_indices(const Case& c) { return is_excluded(c, kOriSparseIndices, "here: it is reserved"); }

// A table without its pool would be passed over in silence.
Finding no_cmp_table(const Case& c) {
    return c.has_cmp() ? Finding{} : is_excluded(c, kCmpBlockTable, "without cmpKv");
}

Finding lse_not_supported(const Case& c) {
    if (!c.call.return_softmax_lse) return {};
    return invalid("returnSoftmaxLse", "false: it is reserved", "true");
}

Finding heads_of_product(const Case& c) {
    return c.heads == 64 || c.heads == 128 ? Finding{} : invalid("q", "64 or 128 heads", text(c.heads));
}

Finding dims_fit(const Case& c) {
    if (Finding finding = q_dim(c)) return finding;
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->dim() == c.row_dim) continue;
        return wrong_shape(c.name(rows->name), "with rows of 640 bytes", *rows->tensor, converter_hint(rows->dim()));
    }
    return {};
}

Finding block_sizes_of_product(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        const int64_t size = extent(rows->tensor, 1);
        if (rows->tensor == nullptr || (size >= 16 && size <= 1024 && size % 16 == 0)) continue;
        return wrong_shape(c.name(rows->name), "with blocks of 16, 32, ... 1024 rows", *rows->tensor);
    }
    return {};
}

Finding ratio_of_product(const Case& c) {
    const int64_t ratio = c.call.cmp_ratio;
    if (c.has_cmp()) {
        return ratio == 4 || ratio == 128 ? Finding{} : invalid("cmpRatio", "4 or 128 with cmpKv", text(ratio));
    }
    return is_one_of<int64_t>(ratio, {1, 4, 128}) ? Finding{}
                                                  : invalid("cmpRatio", "1 without cmpKv (4 and 128 do)", text(ratio));
}

Finding topk_of_product(const Case& c) {
    if (c.cmp.indices == nullptr || is_one_of<int64_t>(c.cmp.topk(), {512, 1024})) return {};
    return wrong_shape("cmpSparseIndices", "with lists of 512 or 1024 entries", *c.cmp.indices);
}

Finding topk_positive(const Case& c) {
    if (c.cmp.indices == nullptr || c.cmp.topk() > 0) return {};
    return wrong_shape("cmpSparseIndices", "with lists of at least one entry", *c.cmp.indices);
}

Finding pools_agree(const Case& c) {
    if (!c.has_cmp()) return {};
    return c.cmp.tensor->dtype == c.ori.tensor->dtype
               ? Finding{}
               : invalid("cmpKv", text("dtype ", meta::dtype_name(c.ori.tensor->dtype), ", that of oriKv"),
                         meta::dtype_name(c.cmp.tensor->dtype));
}

Finding lengths_fit_batch(const Case& c) {
    if (Finding finding = cu_seqlens_q_length(c)) return finding;
    if (Finding finding = has_length(c, kSequsedOriKv, c.batch, "one for each sequence")) return finding;
    return table_rows(c);
}

constexpr Rule<Case> kRules[] = {
    required("KVQ-001", q_given, "q"),
    required("KVQ-001", out_given, "attnOut"),
    required("KVQ-001", lse_given, "softmaxLse"),
    required("KVQ-001", out_pointers_given, "workspaceSize", "required, and executor"),
    {"HOST-F-51", Tier::front, handles_live, kEverywhere, "", "handles are live"},
    {"KVQ-002", Tier::single, product_has_it, kOlder, "device", "an Ascend950"},
    {"KVQ-008", Tier::single, layout_q_known, kEverywhere, "layoutQ", "BSND or TND"},
    {"KVQ-009", Tier::single, layout_kv_known, kEverywhere, "layoutKv", "PA_ND"},
    {"KVQ-003", Tier::single, q_type, kEverywhere, "q", "BF16, format ND"},
    {"KVQ-003", Tier::single, q_rank, kEverywhere, "q", "as many axes as its layout has"},
    {"KVQ-003", Tier::single, q_not_empty, kProducts, "q", "no empty axis"},
    {"KVQ-004", Tier::single, rows_type, kEverywhere, "oriKv", "FLOAT8_E4M3FN or HIFLOAT8, and cmpKv"},
    {"KVQ-004", Tier::single, rows_rank, kEverywhere, "oriKv", "four axes, and cmpKv"},
    {"KVQ-005", Tier::single, quant_mode_known, kEverywhere, "kvQuantMode", "1"},
    {"KVQ-006", Tier::single, tile_size_known, kEverywhere, "tileSize", "64"},
    {"KVQ-007", Tier::single, rope_dim_known, kEverywhere, "ropeHeadDim", "64"},
    {"HOST-S-56", Tier::single, scale_finite, kEverywhere, "softmaxScale", "finite"},
    {"KVQ-010", Tier::single, masks_known, kEverywhere, "oriMaskMode", "4, and cmpMaskMode 3"},
    {"KVQ-011", Tier::single, window_of_page, page_only(kProducts), "oriWinLeft", "127, and oriWinRight 0"},
    {"KVQ-011", Tier::single, window_in_range, kEverywhere, "oriWinLeft", "0 or more, and oriWinRight 0"},
    {"HOST-S-57", Tier::single, block_strides_positive, kEverywhere, "oriKvStride0", "0 or more, and cmpKvStride0"},
    {"KVQ-012", Tier::single, cmp_indices_typed, kEverywhere, "cmpSparseIndices", "INT32, (B,S,1,K) or (T,1,K)"},
    {"KVQ-013", Tier::single, tables_typed, kEverywhere, "oriBlockTable",
     "INT32, two axes, not empty, and cmpBlockTable"},
    {"KVQ-014", Tier::single, sinks_typed, kEverywhere, "sinks", "FLOAT, one axis"},
    {"KVQ-014", Tier::single, lengths_typed, kEverywhere, "sequsedKv", "INT32, one axis, and cuSeqlensQ"},
    {"KVQ-022", Tier::single, metadata_typed, kEverywhere, "metadata", "INT32, (1024)", Known::tensors},
    {"KVQ-020", Tier::existence, ori_given, kEverywhere, "oriKv", "required", Known::tensors},
    {"KVQ-021", Tier::existence, sinks_given, kEverywhere, "sinks", "required", Known::tensors},
    {"KVQ-022", Tier::existence, metadata_given, kEverywhere, "metadata", "required", Known::tensors},
    {"KVQ-023", Tier::existence, cu_seqlens_q_given, kEverywhere, "cuSeqlensQ", "required with layoutQ TND"},
    {"KVQ-024", Tier::existence, ori_used_given, kEverywhere, "sequsedKv", "required", Known::tensors},
    {"KVQ-025", Tier::existence, ori_table_given, kEverywhere, "oriBlockTable", "required"},
    {"KVQ-026", Tier::existence, cmp_table_given, kEverywhere, "cmpBlockTable", "required with cmpKv"},
    {"KVQ-026", Tier::existence, no_cmp_table, kEverywhere, "cmpBlockTable", "absent without cmpKv"},
    {"KVQ-027", Tier::existence, indices_without_cmp, kEverywhere, "cmpSparseIndices",
     "only with cmpKv", Known::tensors},
    {"KVQ-028", Tier::existence, no_kv_totals, kEverywhere, "cuSeqlensOriKv", "absent, and cuSeqlensCmpKv"},
    {"KVQ-029", Tier::existence, no_ori_indices, kEverywhere, "oriSparseIndices", "absent", Known::tensors},
    {"HOST-E-52", Tier::existence, lse_not_supported, kProducts, "returnSoftmaxLse", "false", Known::tensors},
    {"KVQ-030", Tier::cross, heads_of_product, kProducts, "q", "64 or 128 heads"},
    {"KVQ-030", Tier::cross, one_kv_head, kEverywhere, "oriKv", "one head, and cmpKv"},
    {"KVQ-031", Tier::cross, dims_fit, kEverywhere, "q", "512 channels; oriKv and cmpKv 640"},
    {"KVQ-032", Tier::cross, block_sizes_of_product, kProducts, "oriKv",
     "blocks of a multiple of 16 rows, at most 1024, and cmpKv"},
    {"KVQ-033", Tier::cross, ratio_of_product, kProducts, "cmpRatio", "4 or 128 with cmpKv, else 1", Known::tensors},
    {"KVQ-034", Tier::cross, topk_of_product, kProducts, "cmpSparseIndices", "512 or 1024 entries a list"},
    {"KVQ-034", Tier::cross, topk_positive, kEverywhere, "cmpSparseIndices", "at least one entry a list"},
    {"KVQ-040", Tier::consistency, pools_agree, kEverywhere, "cmpKv", "the dtype of oriKv"},
    {"KVQ-041", Tier::consistency, cmp_indices_shape, kEverywhere, "cmpSparseIndices", "a list for each row of q"},
    {"KVQ-042", Tier::consistency, lengths_fit_batch, kEverywhere, "sequsedKv",
     "B entries, cuSeqlensQ B + 1, tables B rows"},
    {"KVQ-043", Tier::consistency, sinks_length, kEverywhere, "sinks", "one for each head"},
    {"KVQ-044", Tier::consistency, out_like_q, kEverywhere, "attnOut", "shape and dtype of q"},
    {"HOST-C-56", Tier::consistency, lse_shape, kHostOnly, "softmaxLse", "FLOAT, (B,1,S,N) or (1,T,N)"},
};

const Group<Case> kGroups[] = {{kRules, std::size(kRules)}, kHostRules};

}  // namespace

const Catalogue<Case> kCatalogue{kGroups, std::size(kGroups)};

}  // namespace acl_attn::ops::sparse::kvq
