// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the runtime's entry points have in common: argument checks and the look-up of handles, each with its message.
#pragma once

#include <memory>
#include <utility>

#include "runtime/handles.h"
#include "runtime/last_error.h"
#include "runtime/state.h"
#include "runtime/text.h"

namespace acl_attn::runtime {

template <class Body>
aclError entry(const char* api, Body&& body) noexcept {
    return guarded(api, ACL_ERROR_BAD_ALLOC, ACL_ERROR_INTERNAL_ERROR, std::forward<Body>(body));
}

inline aclError null_result(const char* parameter) {
    return fail(ACL_ERROR_INVALID_PARAM, text(parameter, ": expected an address to write to, got null"));
}

// A handle that is null, dead or of another kind.
inline aclError bad_handle(const char* parameter, Kind kind, const void* handle) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                text(parameter, ": expected a live ", kind_name(kind), ", got ", describe_handle(handle)));
}

// A wait of milliseconds: -1 or not negative.
inline aclError check_timeout(int32_t timeout) {
    if (timeout >= -1) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                text("timeout: expected milliseconds, or -1 to wait for ever, got ", timeout));
}

// The calling thread's current context; without one, 107002 and a message.
aclError current_context(std::shared_ptr<Context>* context);

// The stream a handle stands for, null meaning the default stream; it must belong to the current context.
aclError usable_stream(aclrtStream handle, std::shared_ptr<Stream>* stream);

// Refuses calls that would wait for tasks from inside a task.
aclError check_may_wait(const char* api);

// Reports a failure of a task as the calling thread's error.
struct TaskResult;
aclError report(TaskResult result);

}  // namespace acl_attn::runtime
