// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "npu/cann.h"

#include <dlfcn.h>

#include "runtime/last_error.h"
#include "runtime/text.h"

namespace acl_attn::npu {
namespace {

constexpr const char* kFiles[] = {"libacl_rt.so", "libascendcl.so"};  // since 8.5, and before

// The copy that the process has, or else the loader's.
void* open_runtime() {
    for (const int mode : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
        for (const char* file : kFiles) {
            if (void* library = dlopen(file, mode)) return library;
        }
    }
    return nullptr;
}

Cann bind() {
    Cann to;
    void* library = open_runtime();
    if (library == nullptr) {
        to.problem = "neither libacl_rt.so nor libascendcl.so is in this process, and the loader does not find them; "
                     "source CANN's set_env.sh";
        return to;
    }
#define ACL_ATTN_CANN_BIND(name) to.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));
#define ACL_ATTN_CANN_MISS(name) \
    if (to.name == nullptr) to.problem += text(to.problem.empty() ? "CANN's runtime does not export " : ", ", #name);
    ACL_ATTN_CANN_NEEDED(ACL_ATTN_CANN_BIND)
    ACL_ATTN_CANN_OPTIONAL(ACL_ATTN_CANN_BIND)
    ACL_ATTN_CANN_NEEDED(ACL_ATTN_CANN_MISS)
#undef ACL_ATTN_CANN_BIND
#undef ACL_ATTN_CANN_MISS
    return to;
}

const char* message_of_cann() {
    const Cann& c = cann();
    return c.problem.empty() ? c.aclGetRecentErrMsg() : nullptr;
}
[[maybe_unused]] const bool g_is_asked = [] {
    set_other_messages(message_of_cann);
    return true;
}();

}  // namespace

const Cann& cann() {
    static const Cann* const bound = new Cann(bind());
    return *bound;
}

std::string failure_of(const char* function, aclError status) {
    const char* message = cann().aclGetRecentErrMsg();
    return text(function, " failed with status ", status, message == nullptr ? "" : text(" (", message, ")"));
}

}  // namespace acl_attn::npu
