// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A child of fork() can go on using the library: the parent's locks are all taken around fork(), so the child finds
// every structure consistent. What the parent had queued on streams does not run in the child.
#pragma once

#include <mutex>

namespace acl_attn::runtime {

// Installs the handlers on the first call. To be called before the first use of any lock of the runtime.
void prepare_for_fork();

// Also takes `mutex`, which is never destroyed, and never wanted while one of the runtime's own locks is held.
void lock_around_fork(std::mutex* mutex);

}  // namespace acl_attn::runtime
