// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.h"

#include "runtime/fork.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {

State& state() {
    // Never destroyed: worker threads and late destructors may still come here while the process exits.
    static State* const instance = [] {
        prepare_for_fork();
        return new State;
    }();
    return *instance;
}

bool Point::is_passed() const {
    const std::shared_ptr<Stream> live = stream.lock();
    return live == nullptr || live->finished() >= sequence;
}

void lock_state() noexcept { state().mutex.lock(); }
void unlock_state() noexcept { state().mutex.unlock(); }

void restart_state_in_child() noexcept {
    State& all = state();
    std::vector<Stream::Leftovers> leftovers(all.streams.size());
    for (size_t i = 0; i < all.streams.size(); ++i) all.streams[i]->restart_in_child(&leftovers[i]);
    all.progress.restart_in_child();
    all.progress_waiters = 0;
    all.workers = 0;
    all.exiting = false;
    all.mutex.unlock();
    leftovers.clear();  // tasks take the lock when they are destroyed
}

}  // namespace acl_attn::runtime
