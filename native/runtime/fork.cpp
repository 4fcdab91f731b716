// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork.h"

#include <pthread.h>

#include <vector>

#include "runtime/handles.h"
#include "runtime/memory.h"
#include "runtime/state.h"

namespace acl_attn::runtime {
namespace {

struct Others {
    std::mutex mutex;
    std::vector<std::mutex*> locks;
};
Others& others() {
    static Others* const instance = new Others;
    return *instance;
}

void unlock_others() {
    for (std::mutex* other : others().locks) other->unlock();
    others().mutex.unlock();
}

// Outermost lock first, the order in which the runtime nests them.
void before_fork() {
    others().mutex.lock();
    for (std::mutex* other : others().locks) other->lock();
    lock_state();
    lock_memory();
    lock_handles();
}

void after_fork_in_parent() {
    unlock_handles();
    unlock_memory();
    unlock_state();
    unlock_others();
}

void after_fork_in_child() {
    unlock_handles();
    unlock_memory();
    unlock_others();
    restart_state_in_child();
}

}  // namespace

void prepare_for_fork() {
    static const bool installed = [] {
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        return true;
    }();
    static_cast<void>(installed);
}

void lock_around_fork(std::mutex* mutex) {
    prepare_for_fork();
    std::lock_guard<std::mutex> lock(others().mutex);
    others().locks.push_back(mutex);
}

}  // namespace acl_attn::runtime
