// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The process's worker threads.
#pragma once

namespace acl_attn::engine {

// Calls body(context, slot) on the calling thread (slot 0) and on up to slots - 1 workers, each with its own slot, and
// returns when all calls have returned. Workers are a help, not a promise: a busy worker, or one that could not be
// started, does not take part, so the bodies must share the work out themselves. Any thread may call this at any time,
// several at once too. The workers are started by the first call with slots > 1, again in a forked child, and end with
// the process. What is not worth waking workers for is left to those awake, and wakes some only if the last call has
// just ended, for then the next one may follow as soon.
void run_on_threads(int slots, void (*body)(void* context, int slot), void* context,
                    bool is_worth_waking = true) noexcept;

// Workers alive now, for tests.
int worker_count() noexcept;

}  // namespace acl_attn::engine
