// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that are held against the rules and not prepared.
#include <memory>
#include <utility>

#include "meta/api.h"
#include "ops/check_options.h"
#include "ops/compute.h"
#include "ops/report_handle.h"
#include "ops/sparse_attention/entry.h"
#include "ops/sparse_attention/plan.h"

namespace acl_attn::ops::sparse {
namespace {

Case understood(const Call& call, Profile) { return Case(call); }
MetadataCase understood(const MetadataCall& call, Profile profile) {
    return MetadataCase(call, planning_device(profile));
}

// What the rules allow and this target does not compute.
Finding limit_of(const Case& c, Profile profile) {
    return c.q->is_empty() ? Finding{} : compute::unserved(make_plan(c, planning_device(profile))->problem);
}
Finding limit_of(const MetadataCase&, Profile) { return {}; }

template <class Case, class Call>
aclnnStatus check(const Entry& entry, const Catalogue<Case>& catalogue, Call& call) {
    if (entry.report == nullptr) return meta::null_result("report");
    if (const aclnnStatus status = check_options(entry.options)) return status;
    call.is_sketch = call.has_workspace_size = call.has_executor = true;
    resolve(call);
    const Profile profile = chosen_profile(entry.options);
    const Revision revision = chosen_revision(entry.options);
    const Case subject = understood(call, profile);
    auto kept = std::make_shared<KeptReport>(accepting_profiles(catalogue, subject, revision));
    all_findings(catalogue, subject, {profile, revision, subject.known()},
                 [&](Finding finding) { kept->add(std::move(*finding)); });
    if (kept->count() == 0) {
        if (Finding finding = limit_of(subject, profile)) kept->add(std::move(*finding));
    }
    *entry.report = publish(std::move(kept));
    return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus enter(const Entry& entry, const Catalogue<Case>& catalogue, Call& call, uint64_t* workspace_size,
                  aclOpExecutor** executor) {
    return entry.is_check ? check(entry, catalogue, call) : phase_one(catalogue, call, workspace_size, executor);
}

aclnnStatus enter(const Entry& entry, const Catalogue<MetadataCase>& catalogue, MetadataCall& call,
                  uint64_t* workspace_size, aclOpExecutor** executor) {
    return entry.is_check ? check(entry, catalogue, call) : phase_one(catalogue, call, workspace_size, executor);
}

}  // namespace acl_attn::ops::sparse
