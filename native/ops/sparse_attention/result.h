// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a task on a stream reports.
#pragma once

#include "aclnn/opdev/op_errno.h"
#include "ops/finding.h"
#include "runtime/stream.h"

namespace acl_attn::ops::sparse {

inline runtime::TaskResult result_of(const Finding& finding) {
    runtime::TaskResult result;
    if (!finding) return result;
    result.code = finding->code;
    result.message = finding->sentence();
    return result;
}

inline runtime::TaskResult result_of(runtime::TaskResult result) { return result; }

// The result of `body`, which returns a Finding or a result. A lack of memory is reported without a sentence, which
// would need some.
template <class Body>
runtime::TaskResult guarded_result(Body&& body) noexcept {
    try {
        return result_of(body());
    } catch (...) {
        runtime::TaskResult result;
        result.code = ACLNN_ERR_INNER;
        return result;
    }
}

}  // namespace acl_attn::ops::sparse
