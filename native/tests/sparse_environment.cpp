// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where an environment variable names rules that do not exist, the sparse operators refuse calls until the program has
// said itself which rules it wants.
#include "acl_attn/rules.h"
#include "sparse_call.h"

using namespace sparse_call;

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
    for (const bool is_quantised : {false, true}) {
        Prepared p(is_quantised ? quantised(selected()) : selected());
        CHECK_FAILS(p.make_metadata(), 161002, "ascend9000");
        CHECK_FAILS(call(p.a), 161002, "ascend9000");
        CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_HOST));
        CHECK_OK(aclAttnSetRules(ACL_ATTN_RULES_PAGE));
        CHECK(p.make_metadata() == 0 && call(p.a) == 0);
        CHECK_OK(aclAttnSetProfile(0, ACL_ATTN_PROFILE_UNSET));
        CHECK_OK(aclAttnSetRules(ACL_ATTN_RULES_UNSET));
    }
    return check_result();
}
