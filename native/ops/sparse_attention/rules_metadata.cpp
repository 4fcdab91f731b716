// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/rules_metadata.h"

#include <iterator>

#include "ops/sparse_attention/metadata_prepared.h"
#include "ops/sparse_attention/shorthand.h"

namespace acl_attn::ops::sparse {
namespace {

Finding batch_in_range(const MetadataCase& c) {
    constexpr int64_t limit = 65536;
    if (c.batch >= 0 && c.batch <= limit) return {};
    return invalid("batchSize", text("0 to ", limit, " sequences"), text(c.batch));
}

Finding all_dense(const MetadataCase& c) {
    const auto dense = [](const char* name, const meta::Tensor& tensor) -> Finding {
        if (tensor.is_contiguous() && byte_span(tensor).representable) return {};
        return invalid(name, "a contiguous tensor",
                       text("strides ", strides_text(tensor), " for shape ", shape_text(tensor)),
                       "copy it to dense memory first");
    };
    for (size_t i = 0; i < kInputCount; ++i) {
        if (c.in[i] == nullptr) continue;
        if (Finding finding = dense(c.name(static_cast<Input>(i)), *c.in[i])) return finding;
    }
    return dense("metaData", *c.metadata);
}

Finding addresses_fit(const MetadataCase& c) { return check_addresses(regions_of(c), ACLNN_ERR_PARAM_INVALID); }
Finding outputs_apart(const MetadataCase& c) { return check_apart(regions_of(c), ACLNN_ERR_PARAM_INVALID); }

constexpr Rule<MetadataCase> kRules[] = {
    {"HOST-S-54", Tier::single, batch_in_range, kEverywhere, "batchSize", "at most 65536 sequences"},
    {"HOST-C-55", Tier::consistency, all_dense, kEverywhere, "", "all tensors are contiguous"},
    {"HOST-C-52", Tier::consistency, addresses_fit, kEverywhere, "",
     "every tensor lies in memory that has room for it"},
    {"HOST-C-53", Tier::consistency, outputs_apart, kEverywhere, "metaData", "overlaps nothing"},
};

}  // namespace

Finding metadata_out_pointers_given(const MetadataCase& c) {
    const auto missing = [](const char* name) {
        return refuse(ACLNN_ERR_INNER_NULLPTR, name, "an address to write to", "a null pointer", {});
    };
    if (!c.call.has_workspace_size) return missing("workspaceSize");
    return c.call.has_executor ? Finding{} : missing("executor");
}

Finding metadata_output_given(const MetadataCase& c) {
    return c.call.metadata.handle == nullptr ? missing("metaData", "an aclTensor") : Finding{};
}

Finding metadata_output_typed(const MetadataCase& c) {
    if (Finding finding = dtype_is("metaData", c.metadata, ACL_INT32)) return finding;
    constexpr int64_t wanted[] = {kMetadataWords};
    return has_shape(*c.metadata, wanted, 1) ? Finding{} : wrong_shape("metaData", "(1024)", *c.metadata);
}

Finding metadata_heads_in_range(const MetadataCase& c) {
    if (c.call.num_heads_q < 1 || c.call.num_heads_q > 128) {
        return invalid("numHeadsQ", "1 to 128", text(c.call.num_heads_q));
    }
    return c.call.num_heads_kv == 1 ? Finding{} : invalid("numHeadsKv", "1", text(c.call.num_heads_kv));
}

Finding core_counts_fit(const MetadataCase& c) {
    const Cores cores = c.device.cores;
    const int least = c.call.num_heads_q > 64 && c.device.family == ChipFamily::a5 ? 2
                      : c.call.num_heads_q == 128                                  ? 2
                                                                                   : 1;
    const bool fit =
        cores.cube >= least && cores.cube <= kMaxCubeCores && cores.vector >= least && cores.vector <= kMaxVectorCores;
    if (fit) return {};
    return invalid("device",
                   text(least, " to ", kMaxCubeCores, " cube and ", least, " to ", kMaxVectorCores,
                        " vector cores for ", c.call.num_heads_q, " heads"),
                   text(cores.cube, " and ", cores.vector), "see aclrtSetStreamResLimit");
}

const Group<MetadataCase> kMetadataHostRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::sparse
