// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What operators need of a stream: put work in order behind what is there. The runtime does not know what the work is.
#pragma once

#include <memory>
#include <string>

#include "acl/acl_rt.h"

namespace acl_attn::runtime {

struct TaskResult {
    int code = 0;         // 0, or the status that the next synchronisation of the stream reports
    std::string message;  // becomes that thread's recent error message
};

// A unit of work on a stream. Destroyed right after it ran, or unrun when the stream is destroyed by force.
class Task {
public:
    virtual ~Task() = default;
    virtual TaskResult run() noexcept = 0;
};

// Appends to the stream's queue and returns at once. A null stream is the default stream of the calling thread's
// current context. Returns an aclError and keeps a message when the handle is dead, foreign, or no context is current.
int submit(aclrtStream stream, std::unique_ptr<Task> task) noexcept;

// Like submit followed by synchronising the stream, but runs the task on the calling thread when the stream is idle, so
// that a small synchronous call costs no thread hand-over. Returns the task's own code if it failed.
int run_now(aclrtStream stream, std::unique_ptr<Task> task) noexcept;

}  // namespace acl_attn::runtime
