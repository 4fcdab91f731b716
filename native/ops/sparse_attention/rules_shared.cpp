// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/rules_shared.h"

#include <cmath>
#include <limits>

#include "ops/sparse_attention/shorthand.h"
#include "ops/sparse_attention/task_list.h"

namespace acl_attn::ops::sparse {
namespace {

Finding dead(const char* name) { return invalid(name, "a live aclTensor", "a handle that was destroyed or is none"); }

bool is_dead(const TensorArg& arg) { return arg.handle != nullptr && arg.tensor == nullptr; }

Finding is_table(const Case& c, Input input) {
    const meta::Tensor* table = c.in[input];
    if (Finding finding = dtype_is(c.name(input), table, ACL_INT32)) return finding;
    if (table == nullptr || (table->rank == 2 && !table->is_empty())) return {};
    return wrong_shape(c.name(input), "(B, blocks a sequence) without empty axes", *table);
}

}  // namespace

Finding q_given(const Case& c) {
    return c.call.tensors[kQ].handle == nullptr ? missing("q", "an aclTensor") : Finding{};
}

Finding out_given(const Case& c) {
    return c.call.outputs[kAttnOut].handle == nullptr ? missing(output_name(kAttnOut), "an aclTensor") : Finding{};
}

Finding out_pointers_given(const Case& c) {
    if (!c.call.has_workspace_size) return missing("workspaceSize", "an address for the size");
    return c.call.has_executor ? Finding{} : missing("executor", "an address for the executor");
}

Finding handles_live(const Case& c) {
    for (size_t i = 0; i < kInputCount; ++i) {
        if (is_dead(c.call.tensors[i])) return dead(c.name(static_cast<Input>(i)));
    }
    if (is_dead(c.call.outputs[kAttnOut])) return dead(output_name(kAttnOut));
    return c.call.return_softmax_lse && is_dead(c.call.outputs[kSoftmaxLse]) ? dead(output_name(kSoftmaxLse))
                                                                             : Finding{};
}

Finding handles_live(const MetadataCase& c) {
    for (size_t i = 0; i < kInputCount; ++i) {
        if (is_dead(c.call.tensors[i])) return dead(c.name(static_cast<Input>(i)));
    }
    return is_dead(c.call.metadata) ? dead("metaData") : Finding{};
}

Finding layout_q_known(const Case& c) {
    return c.layout_q != Layout::unknown ? Finding{} : invalid("layoutQ", "BSND or TND", c.call.layout_q);
}

Finding scale_finite(const Case& c) {
    const double scale = c.call.softmax_scale;
    if (std::abs(scale) <= std::numeric_limits<float>::max()) return {};
    return invalid("softmaxScale", "a finite number that FLOAT can hold",
                   std::isnan(scale) ? "NaN" : std::isinf(scale) ? "an infinity" : "a larger one");
}

Finding q_rank(const Case& c) {
    if (c.layout_q == Layout::unknown || c.q->rank == rank_of(c.layout_q)) return {};
    return wrong_shape("q", text(axes_of(c.layout_q), " with layoutQ ", layout_name(c.op(), c.layout_q)), *c.q);
}

Finding tables_typed(const Case& c) {
    if (Finding finding = is_table(c, kOriBlockTable)) return finding;
    return is_table(c, kCmpBlockTable);
}

Finding sinks_typed(const Case& c) {
    const meta::Tensor* sinks = c.in[kSinks];
    if (Finding finding = dtype_is("sinks", sinks, ACL_FLOAT)) return finding;
    return sinks == nullptr || sinks->rank == 1 ? Finding{} : wrong_shape("sinks", "(N)", *sinks);
}

Finding metadata_typed(const Case& c) {
    const meta::Tensor* metadata = c.in[kMetadata];
    if (Finding finding = dtype_is("metadata", metadata, ACL_INT32)) return finding;
    constexpr int64_t wanted[] = {kMetadataWords};
    return metadata == nullptr || has_shape(*metadata, wanted, 1) ? Finding{}
                                                                  : wrong_shape("metadata", "(1024)", *metadata);
}

Finding cmp_indices_typed(const Case& c) { return is_row_table(c, kCmpSparseIndices, true, "K"); }

Finding ori_given(const Case& c) { return is_required(c, kOriKv, "", "every scenario has a window over it"); }
Finding sinks_given(const Case& c) {
    return is_required(c, kSinks, "", "a logit of -inf for each head is as good as none");
}
Finding metadata_given(const Case& c) {
    return c.in[kMetadata] != nullptr
               ? Finding{}
               : invalid("metadata", text("a tensor that ", metadata_api_name(c.op()), " wrote"), "none");
}
Finding cu_seqlens_q_given(const Case& c) {
    return c.is_packed_q() ? is_required(c, kCuSeqlensQ, "with layoutQ TND") : Finding{};
}
Finding ori_used_given(const Case& c) { return is_required(c, kSequsedOriKv, "with a paged layoutKv"); }
Finding ori_table_given(const Case& c) {
    return c.is_paged() ? is_required(c, kOriBlockTable, "with a paged layoutKv") : Finding{};
}
Finding cmp_table_given(const Case& c) {
    return c.is_paged() && c.has_cmp() ? is_required(c, kCmpBlockTable, "with cmpKv and a paged layoutKv") : Finding{};
}
Finding indices_without_cmp(const Case& c) {
    return c.has_cmp() ? Finding{} : is_excluded(c, kCmpSparseIndices, "without cmpKv");
}

Finding q_dim(const Case& c) {
    return extent(c.q, -1) == 512 ? Finding{} : wrong_shape("q", "with 512 channels", *c.q);
}

Finding heads_in_range(const Case& c) {
    if (c.heads >= 1 && c.heads <= 128) return {};
    return wrong_shape("q", text(axes_of(c.layout_q), " with 1 to 128 heads"), *c.q);
}

Finding one_kv_head(const Case& c) {
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor != nullptr && rows->heads() != 1) {
            return wrong_shape(c.name(rows->name), text(axes_of(c.layout_kv), " with one head"), *rows->tensor);
        }
    }
    return {};
}

Finding cu_seqlens_q_length(const Case& c) {
    // Otherwise its length says how many sequences there are.
    if (c.is_packed_q() && c.batch >= 1) return {};
    return c.is_packed_q() ? wrong_shape("cuSeqlensQ", "(B + 1), at least (2)", *c.in[kCuSeqlensQ]) : Finding{};
}

Finding table_rows(const Case& c) {
    for (const Input input : {kOriBlockTable, kCmpBlockTable}) {
        const meta::Tensor* table = c.in[input];
        if (table == nullptr || table->shape[0] == c.batch) continue;
        return wrong_shape(c.name(input), text("(", c.batch, ", blocks a sequence)"), *table);
    }
    return {};
}

Finding sinks_length(const Case& c) { return has_length(c, kSinks, c.heads, "one for each head of q"); }

Finding out_like_q(const Case& c) {
    if (Finding finding = dtype_is(output_name(kAttnOut), c.out, c.q->dtype)) return finding;
    if (has_shape(*c.out, c.q->shape, c.q->rank)) return {};
    return wrong_shape(output_name(kAttnOut), text(shape_text(*c.q), ", that of q"), *c.out);
}

Finding row_table_shape(const Case& c, Input input, bool has_heads) {
    const meta::Tensor* tensor = c.in[input];
    if (tensor == nullptr) return {};
    int64_t wanted[4];
    int rank = 0;
    if (!c.is_packed_q()) wanted[rank++] = c.batch;
    wanted[rank++] = c.is_packed_q() ? c.tokens : extent(c.q, 1);
    if (has_heads) wanted[rank++] = 1;
    wanted[rank++] = has_heads ? extent(tensor, -1) : 1;
    if (has_shape(*tensor, wanted, rank)) return {};
    return wrong_shape(c.name(input), text(dims_text(wanted, rank), ", one for each row of q"), *tensor);
}

Finding cmp_indices_shape(const Case& c) { return row_table_shape(c, kCmpSparseIndices, true); }

Finding lse_shape(const Case& c) {
    if (c.lse == nullptr) return {};
    if (Finding finding = dtype_is(output_name(kSoftmaxLse), c.lse, ACL_FLOAT)) return finding;
    const int64_t unpacked[] = {c.batch, 1, extent(c.q, 1), c.heads};
    const int64_t packed[] = {1, c.tokens, c.heads};
    const int64_t* wanted = c.is_packed_q() ? packed : unpacked;
    const int rank = c.is_packed_q() ? 3 : 4;
    return has_shape(*c.lse, wanted, rank)
               ? Finding{}
               : wrong_shape(output_name(kSoftmaxLse),
                             text(dims_text(wanted, rank), c.is_packed_q() ? ", (1, T, N)" : ", (B, 1, S, N)"), *c.lse);
}

}  // namespace acl_attn::ops::sparse
