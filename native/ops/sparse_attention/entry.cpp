// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse_attention/entry.h"

#include <utility>

#include "ops/compute.h"
#include "ops/sparse_attention/metadata_prepared.h"
#include "ops/sparse_attention/prepared.h"
#include "runtime/last_error.h"

namespace acl_attn::ops::sparse {

aclnnStatus phase_one(const Catalogue<Case>& catalogue, Call& call, uint64_t* workspace_size,
                      aclOpExecutor** executor) {
    if (const char* mistake = wrong_environment()) return acl_attn::fail(ACLNN_ERR_PARAM_INVALID, mistake);
    resolve(call);
    const Case subject(call);
    if (Finding finding = refusal(catalogue, subject)) return ops::fail(std::move(*finding));
    auto planned = make_plan(subject, planning_device(current_profile()));
    if (!subject.q->is_empty()) {
        if (Finding finding = compute::unserved(planned->problem)) return ops::fail(std::move(*finding));
        planned->attention = compute::plan(planned->problem, compute::chip());
    }
    return meta::publish(api_name(call.op), prepare(subject, std::move(planned)), workspace_size, executor);
}

aclnnStatus phase_one(const Catalogue<MetadataCase>& catalogue, MetadataCall& call, uint64_t* workspace_size,
                      aclOpExecutor** executor) {
    if (const char* mistake = wrong_environment()) return acl_attn::fail(ACLNN_ERR_PARAM_INVALID, mistake);
    resolve(call);
    const MetadataCase subject(call, planning_device(current_profile()));
    if (Finding finding = refusal(catalogue, subject)) return ops::fail(std::move(*finding));
    if (!compute::reads_operands()) {
        return ops::fail(*uncomputed("an operator of the NPU kernels", metadata_api_name(call.op),
                                     "not supported yet; the host target computes task lists"));
    }
    return meta::publish(metadata_api_name(call.op), prepare(subject), workspace_size, executor);
}

}  // namespace acl_attn::ops::sparse
