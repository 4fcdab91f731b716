// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the entry points of acl_meta.h have in common.
#pragma once

#include <utility>

#include "aclnn/acl_meta.h"
#include "aclnn/opdev/op_errno.h"
#include "runtime/handles.h"
#include "runtime/last_error.h"
#include "runtime/text.h"

namespace acl_attn::meta {

using runtime::Kind;
using runtime::Taken;

template <class Body>
aclnnStatus entry(const char* api, Body&& body) noexcept {
    return guarded(api, ACLNN_ERR_INNER, ACLNN_ERR_INNER, std::forward<Body>(body));
}

// For functions that return a handle: null where `body` fails.
template <class Handle, class Body>
Handle* create_entry(const char* api, Body&& body) noexcept {
    Handle* handle = nullptr;
    entry(api, [&]() -> aclnnStatus {
        handle = static_cast<Handle*>(body());
        return ACLNN_SUCCESS;
    });
    return handle;
}

inline aclnnStatus null_result(const char* parameter) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, text(parameter, ": expected an address to write to, got null"));
}

inline aclnnStatus bad_handle(const char* parameter, Kind kind, const void* handle) {
    return fail(handle == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                text(parameter, ": expected a live ", runtime::kind_name(kind), ", got ",
                     runtime::describe_handle(handle)));
}

// The destroy functions of objects that own no others.
template <class T>
aclnnStatus destroy(const char* api, const char* parameter, Kind kind, const void* handle) noexcept {
    return entry(api, [&]() -> aclnnStatus {
        if (handle == nullptr) return ACLNN_SUCCESS;
        std::shared_ptr<T> object;
        switch (runtime::take(kind, handle, &object)) {
            case Taken::ok: return ACLNN_SUCCESS;
            case Taken::absent: return bad_handle(parameter, kind, handle);
            case Taken::owned: break;
        }
        return fail(ACLNN_ERR_PARAM_INVALID, text(parameter, ": expected an ", runtime::kind_name(kind),
                                                  " that no list owns, got a member of a list; destroying the list "
                                                  "destroys it"));
    });
}

}  // namespace acl_attn::meta
