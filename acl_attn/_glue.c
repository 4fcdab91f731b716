/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of the generated source of acl_attn._native, behind the public headers and the table that _build.py writes:
 *   enum { SYMBOL_COUNT = ... }; static void *addresses[SYMBOL_COUNT]; static const char *const names[SYMBOL_COUNT];
 */
int acl_attn_bind(const char *path, bool loaded_only, char *message, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | (loaded_only ? RTLD_NOLOAD : 0));
    if (library == NULL) {
        const char *text = dlerror();
        snprintf(message, size, "%s", text != NULL ? text : "not loaded");
        return -1;
    }
    int bound = 0;
    for (int i = 0; i < SYMBOL_COUNT; ++i) {
        if (addresses[i] == NULL && (addresses[i] = dlsym(library, names[i])) != NULL) {
            ++bound;
        }
    }
    return bound;
}

int acl_attn_symbol_count(void)
{
    return SYMBOL_COUNT;
}

const char *acl_attn_symbol_name(int index)
{
    return index >= 0 && index < SYMBOL_COUNT ? names[index] : NULL;
}

const char *acl_attn_symbol_library(int index)
{
    Dl_info info;
    if (index < 0 || index >= SYMBOL_COUNT || addresses[index] == NULL || dladdr(addresses[index], &info) == 0) {
        return NULL;
    }
    return info.dli_fname;
}

aclnnStatus acl_attn_set_addresses(aclOpExecutor *executor, const acl_attn_slot *slots, size_t count,
                                   void *const *addresses)
{
    for (size_t i = 0; i < count; ++i) {
        const acl_attn_slot *slot = &slots[i];
        aclnnStatus status;
        if (slot->is_list) {
            status = aclSetDynamicInputTensorAddr(executor, slot->index, slot->member, slot->handle, addresses[i]);
        } else if (slot->is_output) {
            status = aclSetOutputTensorAddr(executor, slot->index, slot->handle, addresses[i]);
        } else {
            status = aclSetInputTensorAddr(executor, slot->index, slot->handle, addresses[i]);
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

aclnnStatus acl_attn_run(aclOpExecutor *executor, const acl_attn_slot *slots, size_t count, void *const *addresses,
                         void *workspace, uint64_t workspace_size)
{
    aclnnStatus status = acl_attn_set_addresses(executor, slots, count, addresses);
    return status != 0 ? status : aclAttnRun(workspace, workspace_size, executor, NULL);
}
