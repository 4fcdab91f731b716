// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/last_error.h"

#include <atomic>
#include <utility>

#include "acl/acl_rt.h"
#include "runtime/text.h"

namespace acl_attn {
namespace {

struct ErrorState {
    int code = 0;
    uint64_t count = 0;
    bool has_message = false;
    std::string message;
    std::string handed_out;  // what the last aclGetRecentErrMsg returned
};

// A thread's static destructors, and those of the process in the main thread, may still call the library after this
// thread-local object is gone: `gone` is trivially destructible and therefore readable until the very end.
thread_local bool gone = false;
struct ErrorStateOwner {
    ErrorState state;
    ~ErrorStateOwner() { gone = true; }
};
thread_local ErrorStateOwner owner;

std::atomic<MessageSource> other_messages{nullptr};

ErrorState* state() noexcept { return gone ? nullptr : &owner.state; }

}  // namespace

int fail(int code, std::string message) noexcept {
    if (ErrorState* errors = state()) {
        ++errors->count;
        errors->code = code;
        errors->message = std::move(message);
        errors->has_message = true;
    }
    return code;
}

void set_other_messages(MessageSource other) noexcept { other_messages = other; }

uint64_t failure_count() noexcept {
    const ErrorState* errors = state();
    return errors == nullptr ? 0 : errors->count;
}

}  // namespace acl_attn

extern "C" {

const char* aclGetRecentErrMsg(void) {
    acl_attn::ErrorState* errors = acl_attn::state();
    if (errors == nullptr || !errors->has_message) {
        const acl_attn::MessageSource other = acl_attn::other_messages;
        return other == nullptr ? nullptr : other();
    }
    errors->has_message = false;
    errors->handed_out = std::move(errors->message);
    return errors->handed_out.c_str();
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    if (level != ACL_RT_THREAD_LEVEL) {
        return acl_attn::fail(ACL_ERROR_RT_PARAM_INVALID,
                              acl_attn::text("level: expected ACL_RT_THREAD_LEVEL (0), got ", static_cast<int>(level)));
    }
    acl_attn::ErrorState* errors = acl_attn::state();
    return errors == nullptr ? ACL_SUCCESS : errors->code;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
    const aclError code = aclrtPeekAtLastError(level);
    acl_attn::ErrorState* errors = acl_attn::state();
    if (level == ACL_RT_THREAD_LEVEL && errors != nullptr) errors->code = ACL_SUCCESS;
    return code;
}

}  // extern "C"
