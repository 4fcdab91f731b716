/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Start and end of the aclnn layer. Both are optional: operators work without them.
 */
#ifndef ACL_ATTN_ACLNN_ACLNN_BASE_H_
#define ACL_ATTN_ACLNN_ACLNN_BASE_H_

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `configPath` may be null. May be repeated. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char *configPath);
/* Objects and executors stay what they are; may be repeated. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_ACLNN_ACLNN_BASE_H_ */
