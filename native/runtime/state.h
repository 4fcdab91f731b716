// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the runtime knows: devices, contexts, streams, events. All of it is guarded by one mutex, which is held for some
// tens of nanoseconds at a time and never while a task runs: operators take microseconds to seconds, and one lock makes
// waiting across streams, destruction and fork() simple enough to be right.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/acl_rt.h"

namespace acl_attn::runtime {

class Stream;
using Lock = std::unique_lock<std::mutex>;
using SysParams = std::map<aclSysParamOpt, int64_t>;

// A condition variable that the child of a fork can replace: one that had waiters at fork() is unusable there, it must
// not even be destroyed.
class Signal {
public:
    Signal() : variable_(std::make_unique<std::condition_variable>()) {}
    std::condition_variable& operator*() { return *variable_; }
    std::condition_variable* operator->() { return variable_.get(); }
    void restart_in_child() {
        static_cast<void>(variable_.release());
        variable_ = std::make_unique<std::condition_variable>();
    }

private:
    std::unique_ptr<std::condition_variable> variable_;
};

struct Context {
    int32_t device = 0;
    bool is_default = false;  // of its device
    aclrtContext handle = nullptr;
    aclrtStream default_stream_handle = nullptr;
    std::shared_ptr<Stream> default_stream;
    SysParams sys_params;
};

struct Device {
    int64_t set_count = 0;  // aclrtSetDevice minus aclrtResetDevice
    std::shared_ptr<Context> default_context;
};

// A place in a stream's order. Passed when everything submitted up to there has run or was dropped.
struct Point {
    std::weak_ptr<Stream> stream;
    uint64_t sequence = 0;
    bool is_passed() const;  // state lock held
};

struct ReportQueue;

struct State {
    std::mutex mutex;
    Signal progress;           // something a task or callback thread waits for may have happened
    int progress_waiters = 0;  // so that completing a task costs no wake-up when nobody waits
    bool exiting = false;      // the process is in exit(): workers have stopped
    int workers = 0;           // running worker threads
    std::vector<Device> devices;
    std::vector<std::shared_ptr<Stream>> streams;  // live ones
    int32_t next_stream_id = 0;
    SysParams sys_params;
    std::map<uint64_t, std::shared_ptr<ReportQueue>> report_queues;  // by thread id

    // Waits on `progress` until `ready()` or the process exits. False if `timeout_ms` (-1: none) ran out first.
    template <class Ready>
    bool wait_for_progress(Lock& lock, int32_t timeout_ms, Ready&& ready);
    void announce_progress() {
        if (progress_waiters > 0) progress->notify_all();
    }
};

State& state();

template <class Ready>
bool State::wait_for_progress(Lock& lock, int32_t timeout_ms, Ready&& ready) {
    ++progress_waiters;
    const auto done = [&] { return exiting || ready(); };
    bool in_time = true;
    if (timeout_ms < 0) {
        progress->wait(lock, done);
    } else {
        in_time = progress->wait_for(lock, std::chrono::milliseconds(timeout_ms), done);
    }
    --progress_waiters;
    return in_time;
}

// Around fork(): see fork.h.
void lock_state() noexcept;
void unlock_state() noexcept;
void restart_state_in_child() noexcept;  // also unlocks

}  // namespace acl_attn::runtime
