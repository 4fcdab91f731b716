/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of the generated source of acl_attn._native, behind the public headers and the table that _build.py writes:
 *   enum { SYMBOL_COUNT = ... };
 *   static void *acl_attn_bound[SYMBOL_COUNT];
 *   static const char *const names[SYMBOL_COUNT];
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
        if (acl_attn_bound[i] == NULL && (acl_attn_bound[i] = dlsym(library, names[i])) != NULL) {
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
    if (index < 0 || index >= SYMBOL_COUNT || acl_attn_bound[index] == NULL ||
        dladdr(acl_attn_bound[index], &info) == 0) {
        return NULL;
    }
    return info.dli_fname;
}

aclnnStatus acl_attn_set_addresses(aclOpExecutor *executor, const aclAttnTensorPlace *places, void *const *handles,
                                   void *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const aclAttnTensorPlace *place = &places[i];
        aclnnStatus status;
        if (place->member >= 0) {
            status = aclSetDynamicInputTensorAddr(executor, place->index, (size_t)place->member, handles[i],
                                                  addresses[i]);
        } else if (place->isOutput) {
            status = aclSetOutputTensorAddr(executor, place->index, handles[i], addresses[i]);
        } else {
            status = aclSetInputTensorAddr(executor, place->index, handles[i], addresses[i]);
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}
