/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the extension offers beside the forwarders: filling their table, and the vendor's way to change addresses.
 */

/* A function that no loaded library exports answers with this status, or with null or 0 if it returns no status. Vendor
 * codes are never negative. */
#define ACL_ATTN_STATUS_UNBOUND -1

/* Takes addresses from the library for every function that has none yet. Returns how many, or -1 with the loader's text
 * in `message`. With `loaded_only` the library is not loaded if the process has not got it yet. It is never closed:
 * forwarders, finalizers and worker threads may use it until the process ends. */
int acl_attn_bind(const char *path, bool loaded_only, char *message, size_t size);
int acl_attn_symbol_count(void);
const char *acl_attn_symbol_name(int index);
/* Path of the library that provides the function; NULL if none does. */
const char *acl_attn_symbol_library(int index);

/* Gives `count` tensors of an executor new addresses by the vendor's functions, which want the aclTensor or
 * aclTensorList of each; stops at the first failure. */
aclnnStatus acl_attn_set_addresses(aclOpExecutor *executor, const aclAttnTensorPlace *places, void *const *handles,
                                   void *const *addresses, size_t count);
