// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "formats/packed_row.h"
#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_flash_mla/rules.h"

namespace acl_attn::ops::sparse::mla {
namespace {

bool is_16bit(aclDataType type) { return type == ACL_FLOAT16 || type == ACL_BF16; }

Finding lse_given(const Case& c) {
    if (!c.call.return_softmax_lse || c.call.outputs[kSoftmaxLse].handle != nullptr) return {};
    return missing(output_name(kSoftmaxLse), "an aclTensor, as returnSoftmaxLse is true");
}

Finding q_type(const Case& c) {
    if (!is_16bit(c.q->dtype)) return invalid("q", "dtype FLOAT16 or BF16", meta::dtype_name(c.q->dtype));
    return c.q->format == ACL_FORMAT_ND ? Finding{} : invalid("q", "format ND", text("format ", int(c.q->format)));
}

Finding rows_type(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || is_16bit(rows->tensor->dtype)) continue;
        return invalid(c.name(rows->name), "dtype FLOAT16 or BF16", meta::dtype_name(rows->tensor->dtype));
    }
    return {};
}

Finding layout_kv_known(const Case& c) {
    return c.layout_kv != Layout::unknown ? Finding{} : invalid("layoutKv", "BSND, TND or PA_BBND", c.call.layout_kv);
}

Finding rows_rank(const Case& c) {
    if (c.layout_kv == Layout::unknown) return {};
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->tensor->rank == rank_of(c.layout_kv)) continue;
        return wrong_shape(c.name(rows->name),
                           text(axes_of(c.layout_kv), " with layoutKv ", layout_name(c.op(), c.layout_kv)),
                           *rows->tensor);
    }
    return {};
}

Finding no_empty_axis(const Case& c) {
    if (c.q->is_empty()) return wrong_shape("q", "without empty axes", *c.q);
    for (const Input input : {kOriKv, kCmpKv, kOriSparseIndices, kCmpSparseIndices, kOriBlockTable, kCmpBlockTable,
                              kCuSeqlensQ, kCuSeqlensOriKv, kCuSeqlensCmpKv, kSequsedQ, kSequsedOriKv, kSequsedCmpKv,
                              kCmpResidualKv, kOriTopkLength, kCmpTopkLength, kSinks}) {
        if (c.in[input] == nullptr || !c.in[input]->is_empty()) continue;
        return wrong_shape(c.name(input), "without empty axes", *c.in[input]);
    }
    return c.out->is_empty() ? wrong_shape(output_name(kAttnOut), "without empty axes", *c.out) : Finding{};
}

Finding topk_value_mode_known(const Case& c) {
    if (c.call.topk_value_mode == 1) return {};
    return invalid("topkValueMode", "1, lists of indices", text(c.call.topk_value_mode));
}

Finding layouts_agree(const Case& c) {
    if (c.is_paged() || c.layout_kv == c.layout_q) return {};
    return invalid("layoutKv", text(layout_name(c.op(), c.layout_q), ", as layoutQ, or PA_BBND"),
                   layout_name(c.op(), c.layout_kv));
}

Finding rows_dim(const Case& c) {
    if (Finding finding = q_dim(c)) return finding;
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->dim() == 512) continue;
        const bool is_packed = rows->dim() == formats::kPackedRow.bytes;
        return wrong_shape(c.name(rows->name), "with 512 channels", *rows->tensor,
                           is_packed ? "packed rows are for aclnnKvQuantSparseAttnSharedkv" : "");
    }
    return {};
}

Finding heads_power_of_two(const Case& c) {
    if (is_power_of_two(c.heads) && c.heads <= 128) return {};
    return invalid("q", "1, 2, 4, 8, 16, 32, 64 or 128 heads", text(c.heads));
}

Finding types_agree(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || rows->tensor->dtype == c.q->dtype) continue;
        return invalid(c.name(rows->name), text("dtype ", meta::dtype_name(c.q->dtype), ", that of q"),
                       meta::dtype_name(rows->tensor->dtype));
    }
    return dtype_is(output_name(kAttnOut), c.out, c.q->dtype);
}

Finding batches_agree(const Case& c) {
    if (c.layout_kv != Layout::bsnd) return {};
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || extent(rows->tensor, 0) == c.batch) continue;
        return invalid(c.name(rows->name), text(c.batch, " sequences, as q"), text(extent(rows->tensor, 0)));
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    required("SMLA-001", q_given, "q"),
    required("SMLA-001", out_given, "attnOut"),
    required("SMLA-001", out_pointers_given, "workspaceSize", "required, and executor"),
    required("SMLA-002", lse_given, "softmaxLse", "required with returnSoftmaxLse"),
    {"HOST-F-51", Tier::front, handles_live, kEverywhere, "", "handles are live"},
    {"SMLA-003", Tier::single, q_type, kEverywhere, "q", "FLOAT16 or BF16, format ND"},
    {"SMLA-004", Tier::single, rows_type, kEverywhere, "oriKv", "FLOAT16 or BF16, and cmpKv"},
    {"SMLA-007", Tier::single, layout_q_known, kEverywhere, "layoutQ", "BSND or TND"},
    {"SMLA-007", Tier::single, layout_kv_known, kEverywhere, "layoutKv", "BSND, TND or PA_BBND"},
    {"SMLA-005", Tier::single, q_rank, kEverywhere, "q", "as many axes as its layout has"},
    {"SMLA-005", Tier::single, rows_rank, kEverywhere, "oriKv", "as many axes as its layout has, and cmpKv"},
    {"SMLA-006", Tier::single, no_empty_axis, kProducts, "", "no tensor has an empty axis"},
    {"SMLA-008", Tier::single, scale_finite, and_host(kAscend950), "softmaxScale", "finite"},
    {"SMLA-009", Tier::single, topk_value_mode_known, kEverywhere, "topkValueMode", "1"},
    {"SMLA-020", Tier::existence, ori_given, kEverywhere, "oriKv", "required", Known::tensors},
    {"SMLA-040", Tier::cross, layouts_agree, kEverywhere, "layoutKv", "that of q, or paged"},
    {"SMLA-041", Tier::cross, rows_dim, kEverywhere, "q", "512 channels, and oriKv, cmpKv"},
    {"SMLA-042", Tier::cross, one_kv_head, kEverywhere, "oriKv", "one head, and cmpKv"},
    {"SMLA-043", Tier::cross, heads_in_range, kAscend950, "q", "1 to 128 heads"},
    {"SMLA-044", Tier::cross, heads_power_of_two, kOlder, "q", "a power of two of heads, at most 128"},
    {"SMLA-058", Tier::consistency, types_agree, kEverywhere, "oriKv", "the dtype of q, and cmpKv, attnOut"},
    {"SMLA-059", Tier::consistency, out_like_q, kEverywhere, "attnOut", "the shape of q"},
    {"SMLA-060", Tier::consistency, batches_agree, kEverywhere, "oriKv", "as many sequences as q, and cmpKv"},
};

}  // namespace

const Group<Case> kCommonRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse::mla
