/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * AscendCL as a whole; this project binds the runtime part.
 */
#ifndef ACL_ATTN_ACL_ACL_H_
#define ACL_ATTN_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#endif /* ACL_ATTN_ACL_ACL_H_ */
