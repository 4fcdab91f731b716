// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase one of both operators and of their metadata operators, and what is asked about calls without preparing them.
#pragma once

#include "acl_attn/rules.h"

#include "ops/sparse_attention/call.h"
#include "ops/sparse_attention/catalogue.h"
#include "ops/sparse_attention/case.h"
#include "ops/sparse_attention/metadata_case.h"

namespace acl_attn::ops::sparse {

aclnnStatus phase_one(const Catalogue<Case>& catalogue, Call& call, uint64_t* workspace_size,
                      aclOpExecutor** executor);

aclnnStatus phase_one(const Catalogue<MetadataCase>& catalogue, MetadataCall& call, uint64_t* workspace_size,
                      aclOpExecutor** executor);

// Through which function a call came, and what for.
struct Entry {
    const char* api;
    bool is_check = false;  // to be held against the rules, and else to be prepared
    const aclAttnCheckOptions* options = nullptr;
    aclAttnReport** report = nullptr;
};

inline Entry check_entry(const char* api, const aclAttnCheckOptions* options, aclAttnReport** report) {
    return {api, true, options, report};
}

// Phase one or the check. `workspace_size` and `executor` are for calls to be prepared.
aclnnStatus enter(const Entry& entry, const Catalogue<Case>& catalogue, Call& call, uint64_t* workspace_size,
                  aclOpExecutor** executor);

aclnnStatus enter(const Entry& entry, const Catalogue<MetadataCase>& catalogue, MetadataCall& call,
                  uint64_t* workspace_size, aclOpExecutor** executor);

}  // namespace acl_attn::ops::sparse
