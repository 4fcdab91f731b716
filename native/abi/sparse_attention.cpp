// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/sparse_attention.h"

#include "abi/text_result.h"
#include "meta/api.h"
#include "ops/sparse_attention/describe.h"

extern "C" {

aclnnStatus aclAttnDescribeMetadata(const int32_t* metadata, char* text, size_t size, size_t* needed) {
    using namespace acl_attn;
    return meta::entry("aclAttnDescribeMetadata", [&]() -> aclnnStatus {
        if (metadata == nullptr) {
            return fail(ACLNN_ERR_PARAM_NULLPTR, "metadata: expected the address of 1024 words, got null");
        }
        if (text == nullptr && size > 0) return meta::null_result("text");
        abi::copy_text(ops::sparse::describe_metadata(reinterpret_cast<const uint32_t*>(metadata)), text, size, needed);
        return ACLNN_SUCCESS;
    });
}

}  // extern "C"
