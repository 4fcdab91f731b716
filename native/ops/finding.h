// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rule says about a call: nothing, or a status code and a sentence of the form
// "parameter: expected X, got Y; fix".
#pragma once

#include <string>

#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"
#include "runtime/text.h"

namespace acl_attn::ops {

struct Finding {
    aclnnStatus code = 0;
    std::string message;

    explicit operator bool() const { return code != 0; }
};

inline Finding refuse(aclnnStatus code, const std::string& parameter, const std::string& expected,
                      const std::string& got, const std::string& fix) {
    return {code, text(parameter, ": expected ", expected, ", got ", got, fix.empty() ? "" : "; ", fix)};
}

// A required pointer is null.
inline Finding missing(const std::string& parameter, const std::string& expected) {
    return refuse(ACLNN_ERR_PARAM_NULLPTR, parameter, expected, "a null pointer", {});
}

// A type, a format or a handle that no kernel takes.
inline Finding invalid(const std::string& parameter, const std::string& expected, const std::string& got,
                       const std::string& fix = {}) {
    return refuse(ACLNN_ERR_PARAM_INVALID, parameter, expected, got, fix);
}

// Any other constraint.
inline Finding violated(const std::string& parameter, const std::string& expected, const std::string& got,
                        const std::string& fix = {}) {
    return refuse(ACLNN_ERR_INNER_TILING_ERROR, parameter, expected, got, fix);
}

}  // namespace acl_attn::ops
