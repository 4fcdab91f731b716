/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for CANN: the host library behind the vendor's file names, with what an NPU has and the host has not,
 * above all memory of its own. For tests of what loads and calls CANN.
 *
 * Environment, read when the stand-in is loaded:
 *   STANDIN_SOC     what aclrtGetSocName answers (default Ascend910B3)
 *   STANDIN_FAULTS  "function=status,...": these do nothing but answer the status
 */
#ifndef ACL_ATTN_TESTS_STANDIN_H_
#define ACL_ATTN_TESTS_STANDIN_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a vendor's library calls for a function of its own. NULL if the host library has no such function. */
__attribute__((visibility("default"))) void *standin_find(const char *name);

/* For kernels: the real address behind one of the device's, NULL if it is none that is alive, and all live memory. */
__attribute__((visibility("default"))) void *standin_real_address(const void *address);
__attribute__((visibility("default"))) void standin_each_allocation(void (*visit)(void *real, size_t bytes, void *data),
                                                                    void *data);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_TESTS_STANDIN_H_ */
