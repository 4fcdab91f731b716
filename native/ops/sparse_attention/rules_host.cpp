// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What has to hold so that running a call touches nothing but the call's own memory.
#include <iterator>
#include <string>

#include "ops/sparse_attention/prepared.h"
#include "ops/sparse_attention/rules_shared.h"
#include "ops/sparse_attention/shorthand.h"

namespace acl_attn::ops::sparse {
namespace {

// Calls visit(name, tensor, input) for every tensor that the run touches until it returns a finding; outputs count as
// kInputCount.
template <class Visit>
Finding each_touched(const Case& c, Visit&& visit) {
    for (size_t i = 0; i < kInputCount; ++i) {
        if (c.in[i] == nullptr && i != kQ) continue;
        if (Finding finding = visit(c.name(static_cast<Input>(i)), i == kQ ? *c.q : *c.in[i], i)) return finding;
    }
    if (Finding finding = visit(output_name(kAttnOut), *c.out, kInputCount)) return finding;
    return c.lse == nullptr ? Finding{} : visit(output_name(kSoftmaxLse), *c.lse, kInputCount);
}

Finding sizes_representable(const Case& c) {
    return each_touched(c, [](const char* name, const meta::Tensor& tensor, size_t) -> Finding {
        if (byte_span(tensor).representable) return {};
        return invalid(name, "a size and strides that fit into 62 bits",
                       text("shape ", shape_text(tensor), ", strides ", strides_text(tensor)));
    });
}

Finding ratio_positive(const Case& c) {
    if (c.call.cmp_ratio >= 1 && c.call.cmp_ratio <= INT32_MAX) return {};
    return invalid("cmpRatio", "1 or more original tokens for a compressed row", text(c.call.cmp_ratio));
}

Finding batch_in_range(const Case& c) {
    constexpr int64_t limit = 65536;
    if (c.batch <= limit) return {};
    return invalid(c.is_packed_q() ? "cuSeqlensQ" : "q", text("at most ", limit, " sequences"), text(c.batch));
}

Finding block_size_positive(const Case& c) {
    if (!c.is_paged()) return {};
    for (const Rows* rows : {&c.ori, &c.cmp}) {
        if (rows->tensor == nullptr || (extent(rows->tensor, 1) >= 1 && extent(rows->tensor, 1) <= INT32_MAX)) continue;
        return wrong_shape(c.name(rows->name), text(axes_of(c.layout_kv), " with at least one row a block"),
                           *rows->tensor);
    }
    return {};
}

// Pools may have gaps between blocks and rows, q between rows and heads; the rest is dense.
Finding strides_fit(const Case& c) {
    return each_touched(c, [](const char* name, const meta::Tensor& tensor, size_t input) -> Finding {
        const bool is_free = input == kQ || input == kOriKv || input == kCmpKv;
        if (tensor.is_empty() || tensor.is_contiguous()) return {};
        bool fits = is_free && tensor.is_dense_from(tensor.rank - 1);
        for (int axis = 0; fits && axis + 1 < tensor.rank; ++axis) {
            fits = tensor.shape[axis] == 1 || tensor.stride[axis] > 0;
        }
        if (fits) return {};
        return invalid(name, is_free ? "a dense last axis and positive strides" : "a contiguous tensor",
                       text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)),
                       "copy it to dense memory first");
    });
}

Finding addresses_fit(const Case& c) { return check_addresses(regions_of(c), ACLNN_ERR_PARAM_INVALID); }
Finding outputs_apart(const Case& c) { return check_apart(regions_of(c), ACLNN_ERR_PARAM_INVALID); }

constexpr Rule<Case> kRules[] = {
    {"HOST-S-51", Tier::single, ratio_positive, kHostOnly, "cmpRatio", "at least 1"},
    {"HOST-S-52", Tier::single, sizes_representable, kEverywhere, "", "sizes and strides fit into 62 bits"},
    {"HOST-S-53", Tier::cross, heads_in_range, kHostOnly, "q", "1 to 128 heads"},
    {"HOST-S-54", Tier::cross, batch_in_range, kEverywhere, "q", "at most 65536 sequences"},
    {"HOST-S-55", Tier::cross, block_size_positive, kHostOnly, "oriKv", "blocks have rows"},
    {"HOST-C-55", Tier::consistency, strides_fit, kEverywhere, "", "all but q and the pools are contiguous"},
    {"HOST-C-52", Tier::consistency, addresses_fit, kEverywhere, "",
     "every tensor lies in memory that has room for it"},
    {"HOST-C-53", Tier::consistency, outputs_apart, kEverywhere, "", "outputs overlap nothing"},
};

}  // namespace

const Group<Case> kHostRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse
