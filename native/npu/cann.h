// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// CANN's runtime in this process, by its functions. Bound when first asked for and not before, so that the library
// loads anywhere; by file name, so that a copy that the process has is the one.
#pragma once

#include <string>

#include "acl/acl_rt.h"

namespace acl_attn::npu {

#define ACL_ATTN_CANN_NEEDED(use)                                                                              \
    use(aclGetRecentErrMsg) use(aclrtGetCurrentContext) use(aclrtGetDevice) use(aclrtGetSocName)               \
    use(aclrtMallocHost) use(aclrtFreeHost) use(aclrtMemcpyAsync) use(aclrtCreateEvent) use(aclrtDestroyEvent) \
    use(aclrtRecordEvent) use(aclrtQueryEventStatus) use(aclrtSynchronizeStream)
// Null where CANN is too old.
#define ACL_ATTN_CANN_OPTIONAL(use)                                                                 \
    use(aclrtGetDeviceInfo) use(aclrtGetResInCurrentThread) use(aclrtGetSysParamOpt)                \
    use(aclrtCtxGetCurrentDefaultStream) use(aclrtPeekAtLastError) use(aclmdlRICaptureGetInfo)

struct Cann {
    std::string problem;  // why there is none; empty if all that is needed is there
#define ACL_ATTN_CANN_MEMBER(name) decltype(&::name) name = nullptr;
    ACL_ATTN_CANN_NEEDED(ACL_ATTN_CANN_MEMBER) ACL_ATTN_CANN_OPTIONAL(ACL_ATTN_CANN_MEMBER)
#undef ACL_ATTN_CANN_MEMBER
};

const Cann& cann();

// "aclrtMallocHost failed with status 207001 (...)", with what CANN says.
std::string failure_of(const char* function, aclError status);

}  // namespace acl_attn::npu
