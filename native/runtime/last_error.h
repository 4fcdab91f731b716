// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The one way an error leaves the library: a status code, and a message kept per thread for aclGetRecentErrMsg.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "acl/acl_base.h"

namespace acl_attn {

// Keeps `message` as the calling thread's recent error and returns `code`. Never throws: a message that cannot be
// stored is dropped, the code is not.
int fail(int code, std::string message) noexcept;

// Who is asked for a message by a thread that has none of this library: the library whose runtime this one works on.
using MessageSource = const char* (*)();
void set_other_messages(MessageSource other) noexcept;

// How often fail() was called on the calling thread: whoever keeps more about a failure than its message can tell
// whether it still is the last one.
uint64_t failure_count() noexcept;

// Runs an entry point's body so that no exception crosses the C interface. `out_of_memory` and `internal` are the codes
// the caller's family of functions uses (aclError and aclnnStatus number them differently).
template <class Body>
int guarded(const char* api, int out_of_memory, int internal, Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(out_of_memory, std::string(api) + ": out of host memory");
    } catch (const std::exception& e) {
        return fail(internal, std::string(api) + ": internal error: " + e.what());
    } catch (...) {
        return fail(internal, std::string(api) + ": internal error");
    }
}

}  // namespace acl_attn
