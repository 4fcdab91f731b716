// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The queue behind a stream: tasks run one at a time in order, on a worker thread that is started when it is first
// needed, or on a thread that waits for the stream anyway ("helping"), which spares a hand-over between threads.
//
// All functions want the state lock held; those that take it as a parameter release it while they wait or run a task.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/state.h"
#include "runtime/stream.h"

namespace acl_attn::runtime {

class Stream;

// That a stream has run everything up to a place in its order.
struct Awaited {
    const Stream* stream = nullptr;
    uint64_t sequence = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
public:
    Stream(std::weak_ptr<Context> context, int32_t device, int32_t id)
        : context_(std::move(context)), device_(device), id_(id) {}

    const std::weak_ptr<Context>& context() const { return context_; }
    int32_t device() const { return device_; }
    int32_t id() const { return id_; }
    uint64_t submitted() const { return submitted_; }
    uint64_t finished() const { return finished_; }
    bool is_idle() const { return queue_.empty() && !running_; }
    bool is_closed() const { return closed_; }
    bool is_dropping() const { return dropping_; }
    bool runs_on_this_thread() const { return running_ && runner_ == std::this_thread::get_id(); }
    // Whether this stream's running task is the calling thread's, or waits for a stream of which that holds: waiting
    // for this stream would never end.
    bool waits_for_this_thread() const;

    // Queues `task`; its place in the order is then submitted(). On failure returns an aclError and keeps a message.
    int push(std::unique_ptr<Task> task);

    // Runs the task on the calling thread. Only when idle.
    TaskResult run_inline(Lock& lock, std::unique_ptr<Task> task);

    // Waits until everything up to `sequence` has run. False if `timeout_ms` (-1: none) ran out first. Helps unless
    // there is a timeout, because a task may take longer than that.
    bool wait_until(Lock& lock, uint64_t sequence, int32_t timeout_ms);

    // The first failure since the last call of this function; code 0 if none.
    TaskResult take_failure() { return std::exchange(failure_, TaskResult()); }
    void stop_on_failure(bool stop) { stop_on_failure_ = stop; }

    // Refuses further tasks, drops those that have not started if `drop`, waits for the rest, ends the worker.
    void close(Lock& lock, bool drop);

    // Holds `keepsake` until everything submitted so far has run.
    void keep(std::shared_ptr<void> keepsake) { keepsakes_.emplace_back(submitted_, std::move(keepsake)); }

    // At the end of the process: wakes all who wait here to notice it, and leaves the worker for the caller to join.
    void wake_everyone();
    std::unique_ptr<std::thread> release_worker() { return std::move(worker_); }

    // Moves what the parent had queued to `leftovers`, to be destroyed without the lock.
    using Leftovers = std::pair<std::deque<std::unique_ptr<Task>>, std::vector<std::shared_ptr<void>>>;
    void restart_in_child(Leftovers* leftovers);

    std::map<aclrtDevResLimitType, uint32_t> core_limits;
    uint64_t report_thread = 0;  // that runs this stream's callbacks; 0: none

private:
    void start_worker();
    void work();
    void wake_worker();
    bool is_skipping() const { return dropping_ || (stop_on_failure_ && failure_.code != 0); }
    // The result goes to `own`, or where it is null to the stream's failure.
    void run(Lock& lock, std::unique_ptr<Task> task, TaskResult* own);
    void run_next(Lock& lock);

    friend class Waiting;
    const std::weak_ptr<Context> context_;
    const int32_t device_;
    const int32_t id_;
    std::deque<std::unique_ptr<Task>> queue_;
    std::vector<std::pair<uint64_t, std::shared_ptr<void>>> keepsakes_;
    uint64_t submitted_ = 0;
    uint64_t finished_ = 0;  // run, skipped or dropped
    bool running_ = false;
    bool closed_ = false;
    bool dropping_ = false;
    bool stop_on_failure_ = false;
    std::thread::id runner_;
    Awaited awaited_;  // what the running task waits for
    TaskResult failure_;

    Signal work_;  // for the worker
    Signal done_;  // for those who wait for the stream
    int waiters_ = 0;
    int helpers_ = 0;  // of the waiters, those who will take the next task themselves
    bool runner_helps_ = false;  // the runner is one of the helpers
    bool worker_must_end_ = false;
    std::unique_ptr<std::thread> worker_;
};

// Ends the stream's callback subscription if it has one.
void end_reports(Stream& stream);

// Says, as long as it lives, what the task that the calling thread runs, if any, waits for. State lock held.
class Waiting {
public:
    explicit Waiting(Awaited awaited);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

private:
    Stream* const waiter_;
    Awaited before_;
};

// Whether the calling thread is running a task of some stream.
bool is_inside_task() noexcept;

// Whether the stream whose task the calling thread runs is dropping its tasks: one that waits must give up then. State
// lock held.
bool is_task_dropped() noexcept;

// A stream that State::streams knows.
std::shared_ptr<Stream> open_stream(std::weak_ptr<Context> context, int32_t device);
// Closes it and takes it out of State::streams.
void close_stream(Lock& lock, const std::shared_ptr<Stream>& stream, bool drop);

}  // namespace acl_attn::runtime
