// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "aclnn/aclnn_base.h"

#include "aclnn/opdev/op_errno.h"

extern "C" {

// The device's library loads operator packages here and releases them in the end; the host target has none.
aclnnStatus aclnnInit(const char*) { return ACLNN_SUCCESS; }
aclnnStatus aclnnFinalize(void) { return ACLNN_SUCCESS; }

}  // extern "C"
