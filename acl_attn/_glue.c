/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of the generated source of acl_attn._native, behind the public headers and the table that _build.py writes:
 *   enum { SYMBOL_COUNT = ... };
 *   static void *acl_attn_tables[ACL_ATTN_TARGET_COUNT][SYMBOL_COUNT];
 *   static _Thread_local void **acl_attn_table;
 *   static const struct { const char *name, *group; } symbols[SYMBOL_COUNT];
 */
void *acl_attn_open(const char *path, bool loaded_only, bool is_global, char *message, size_t size)
{
    int scope = is_global ? RTLD_GLOBAL : RTLD_LOCAL;
    void *library = dlopen(path, RTLD_NOW | scope | (loaded_only ? RTLD_NOLOAD : 0));
    if (library == NULL) {
        const char *text = dlerror();
        snprintf(message, size, "%s", text != NULL ? text : "not loaded");
    }
    return library;
}

static bool is_entry(int target, int symbol)
{
    return target >= 0 && target < ACL_ATTN_TARGET_COUNT && symbol >= 0 && symbol < SYMBOL_COUNT;
}

bool acl_attn_exports(void *library, int symbol)
{
    return is_entry(0, symbol) && library != NULL && dlsym(library, symbols[symbol].name) != NULL;
}

bool acl_attn_bind(int target, int symbol, void *library)
{
    if (!is_entry(target, symbol) || library == NULL) {
        return false;
    }
    void **entry = &acl_attn_tables[target][symbol];
    if (*entry == NULL) {
        *entry = dlsym(library, symbols[symbol].name);
    }
    return *entry != NULL;
}

bool acl_attn_share(int target, int symbol, int other)
{
    if (!is_entry(target, symbol) || !is_entry(other, symbol)) {
        return false;
    }
    void **entry = &acl_attn_tables[target][symbol];
    if (*entry == NULL) {
        *entry = acl_attn_tables[other][symbol];
    }
    return *entry != NULL;
}

int acl_attn_select(int target)
{
    int before = (int)((acl_attn_table - acl_attn_tables[0]) / SYMBOL_COUNT);
    if (target >= 0 && target < ACL_ATTN_TARGET_COUNT) {
        acl_attn_table = acl_attn_tables[target];
    }
    return before;
}

int acl_attn_symbol_count(void)
{
    return SYMBOL_COUNT;
}

const char *acl_attn_symbol_name(int symbol)
{
    return is_entry(0, symbol) ? symbols[symbol].name : NULL;
}

const char *acl_attn_symbol_group(int symbol)
{
    return is_entry(0, symbol) ? symbols[symbol].group : NULL;
}

const char *acl_attn_symbol_library(int target, int symbol)
{
    Dl_info info;
    if (!is_entry(target, symbol) || acl_attn_tables[target][symbol] == NULL ||
        dladdr(acl_attn_tables[target][symbol], &info) == 0) {
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
