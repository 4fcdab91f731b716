// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/check_options.h"

#include "aclnn/opdev/op_errno.h"
#include "runtime/last_error.h"
#include "runtime/text.h"

namespace acl_attn::ops {

aclnnStatus check_options(const aclAttnCheckOptions* options) {
    if (options == nullptr) return ACLNN_SUCCESS;
    if (options->profile < ACL_ATTN_PROFILE_UNSET || options->profile >= ACL_ATTN_PROFILE_COUNT) {
        return acl_attn::fail(ACLNN_ERR_PARAM_INVALID, text("options->profile: expected a profile, got ",
                                                            static_cast<int>(options->profile)));
    }
    if (options->rules < ACL_ATTN_RULES_UNSET || options->rules > ACL_ATTN_RULES_NEWEST) {
        return acl_attn::fail(ACLNN_ERR_PARAM_INVALID, text("options->rules: expected an edition of the rules, got ",
                                                            static_cast<int>(options->rules)));
    }
    return ACLNN_SUCCESS;
}

Profile chosen_profile(const aclAttnCheckOptions* options) noexcept {
    const bool is_chosen = options != nullptr && options->profile != ACL_ATTN_PROFILE_UNSET;
    return is_chosen ? static_cast<Profile>(options->profile) : current_profile();
}

Revision chosen_revision(const aclAttnCheckOptions* options) noexcept {
    const bool is_chosen = options != nullptr && options->rules != ACL_ATTN_RULES_UNSET;
    return is_chosen ? static_cast<Revision>(options->rules) : current_revision();
}

}  // namespace acl_attn::ops
