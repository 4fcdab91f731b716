/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the extension offers beside the forwarders: filling their table, and the vendor's way to change addresses.
 */

/* A function that no loaded library exports answers with this status, or with null or 0 if it returns no status. Vendor
 * codes are never negative. */
#define ACL_ATTN_STATUS_UNBOUND -1

/* Each target has a table of addresses, filled once; a thread calls through the table that it has selected, at first
 * that of target 0. */
#define ACL_ATTN_TARGET_COUNT 4

/* Opens a library. Returns its handle, or NULL with the loader's text in `message`. With `loaded_only` the library is
 * not loaded if the process has not got it yet; with `is_global` libraries loaded later may use its functions. It is
 * never closed: forwarders, finalizers and worker threads may use it until the process ends. */
void *acl_attn_open(const char *path, bool loaded_only, bool is_global, char *message, size_t size);
/* Whether the library has the function. */
bool acl_attn_exports(void *library, int symbol);
/* Takes the address of a function from a library, unless the target has one; whether it has one now. */
bool acl_attn_bind(int target, int symbol, void *library);
/* The same from another target's table. */
bool acl_attn_share(int target, int symbol, int other);
/* Makes the target the calling thread's; a number that none has changes nothing. Returns the one that it was. */
int acl_attn_select(int target);
int acl_attn_symbol_count(void);
const char *acl_attn_symbol_name(int symbol);
/* Folder of the header that declares it: "acl", "aclnn", "aclnnop" or "acl_attn". */
const char *acl_attn_symbol_group(int symbol);
/* Path of the library that provides the function to the target; NULL if none does. */
const char *acl_attn_symbol_library(int target, int symbol);

/* Gives `count` tensors of an executor new addresses by the vendor's functions, which want the aclTensor or
 * aclTensorList of each; stops at the first failure. */
aclnnStatus acl_attn_set_addresses(aclOpExecutor *executor, const aclAttnTensorPlace *places, void *const *handles,
                                   void *const *addresses, size_t count);
