// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "runtime/last_error.h"

namespace acl_attn::runtime {
namespace {

// The streams whose tasks the thread runs, innermost first: a task that waits for another stream may run its tasks.
thread_local int task_depth = 0;
thread_local Stream* innermost = nullptr;

// A task still running after this long is left behind; the process must not hang in exit().
constexpr std::chrono::seconds kExitPatience(5);

// Registered when the first worker starts: workers must be at rest before static objects, also of other libraries, are
// destroyed. What is still queued is not run.
void stop_workers_at_exit() {
    State& all = state();
    std::vector<std::unique_ptr<std::thread>> workers;
    // A task that calls exit() cannot wait for its own thread.
    const bool can_wait = !is_inside_task();
    Lock lock(all.mutex);
    all.exiting = true;
    for (const auto& stream : all.streams) {
        stream->wake_everyone();
        if (auto worker = stream->release_worker()) workers.push_back(std::move(worker));
    }
    all.progress->notify_all();
    ++all.progress_waiters;
    const bool at_rest = can_wait && all.progress->wait_for(lock, kExitPatience, [&] { return all.workers == 0; });
    --all.progress_waiters;
    lock.unlock();
    for (auto& worker : workers) at_rest ? worker->join() : worker->detach();
}

// Not atexit(): under the thread sanitizer that is not called when the library is unloaded, but after it.
struct AtExit {
    ~AtExit() { stop_workers_at_exit(); }
};

// Signals are the program's business: a worker must not be the thread that gets them.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace

bool is_inside_task() noexcept { return task_depth > 0; }

bool is_task_dropped() noexcept { return innermost != nullptr && innermost->is_dropping(); }

Waiting::Waiting(Awaited awaited) : waiter_(innermost) {
    if (waiter_ != nullptr) before_ = std::exchange(waiter_->awaited_, awaited);
}

Waiting::~Waiting() {
    if (waiter_ != nullptr) waiter_->awaited_ = before_;
}

bool Stream::waits_for_this_thread() const {
    const Stream* stream = this;
    // No chain is longer than this; one that is bites its own tail.
    for (size_t left = state().streams.size(); left > 0; --left) {
        if (stream->runs_on_this_thread()) return true;
        const Awaited& next = stream->awaited_;
        // A task whose wait is over may not have noticed yet.
        if (next.stream == nullptr || next.stream->finished_ >= next.sequence) return false;
        stream = next.stream;
    }
    return false;
}

int Stream::push(std::unique_ptr<Task> task) {
    if (state().exiting) {
        return fail(ACL_ERROR_RT_STREAM_ABORT, "stream: the process is exiting, no task can be queued");
    }
    try {
        if (worker_ == nullptr) start_worker();
    } catch (const std::system_error&) {
        return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "stream: the system gave no thread to run its tasks");
    }
    queue_.push_back(std::move(task));
    ++submitted_;
    if (!running_) wake_worker();
    return ACL_SUCCESS;
}

void Stream::start_worker() {
    static AtExit at_exit;
    SignalsBlocked blocked;
    worker_ = std::make_unique<std::thread>([self = shared_from_this()] { self->work(); });
    ++state().workers;
}

void Stream::wake_worker() {
    if (worker_ != nullptr && helpers_ == 0) work_->notify_one();
}

void Stream::work() {
    State& all = state();
    Lock lock(all.mutex);
    const auto has_something = [&] {
        return all.exiting || worker_must_end_ || (!queue_.empty() && !running_);
    };
    for (;;) {
        work_->wait(lock, has_something);
        if (all.exiting || worker_must_end_) break;
        run_next(lock);
    }
    --all.workers;
    all.announce_progress();
}

void Stream::run_next(Lock& lock) {
    std::unique_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    run(lock, std::move(task), nullptr);
}

void Stream::run(Lock& lock, std::unique_ptr<Task> task, TaskResult* own) {
    const bool skip = is_skipping();
    running_ = true;
    runner_ = std::this_thread::get_id();
    lock.unlock();
    TaskResult result;
    Stream* const outer = std::exchange(innermost, this);
    ++task_depth;
    if (!skip) result = task->run();
    task.reset();  // whoever waits for the task finds what it held released
    --task_depth;
    innermost = outer;
    lock.lock();
    if (own != nullptr) {
        *own = std::move(result);
    } else if (result.code != 0 && failure_.code == 0) {
        failure_ = std::move(result);
    }
    running_ = false;
    ++finished_;
    std::vector<std::shared_ptr<void>> released;
    while (!keepsakes_.empty() && keepsakes_.front().first <= finished_) {
        released.push_back(std::move(keepsakes_.front().second));
        keepsakes_.erase(keepsakes_.begin());
    }
    if (waiters_ > 0) done_->notify_all();
    state().announce_progress();
    if (!queue_.empty()) wake_worker();
    if (!released.empty()) {
        lock.unlock();
        released.clear();
        lock.lock();
    }
}

TaskResult Stream::run_inline(Lock& lock, std::unique_ptr<Task> task) {
    ++submitted_;
    TaskResult result;
    run(lock, std::move(task), &result);
    return result;
}

bool Stream::wait_until(Lock& lock, uint64_t sequence, int32_t timeout_ms) {
    const Waiting waiting({this, sequence});
    const auto done = [&] { return finished_ >= sequence || state().exiting; };
    if (timeout_ms >= 0) {
        ++waiters_;
        const bool in_time = done_->wait_for(lock, std::chrono::milliseconds(timeout_ms), done);
        --waiters_;
        return in_time;
    }
    ++helpers_;
    while (!done()) {
        if (!running_ && !queue_.empty()) {
            runner_helps_ = true;
            run_next(lock);
            runner_helps_ = false;
        } else {
            ++waiters_;
            done_->wait(lock);
            --waiters_;
        }
    }
    --helpers_;
    if (!queue_.empty() && !running_) wake_worker();
    return true;
}

void Stream::close(Lock& lock, bool drop) {
    closed_ = true;
    dropping_ = drop;
    state().announce_progress();  // the running task may be one that waits, and give up
    wait_until(lock, submitted_, -1);
    worker_must_end_ = true;
    std::unique_ptr<std::thread> worker = std::move(worker_);
    work_->notify_all();
    if (worker == nullptr) return;
    lock.unlock();
    worker->join();
    lock.lock();
}

void Stream::wake_everyone() {
    work_->notify_all();
    done_->notify_all();
}

void Stream::restart_in_child(Leftovers* leftovers) {
    // The thread that forked lives on; if it is in the middle of a task of this stream, that task goes on too.
    const bool survives = runs_on_this_thread();
    leftovers->first.swap(queue_);
    for (auto& keepsake : keepsakes_) leftovers->second.push_back(std::move(keepsake.second));
    keepsakes_.clear();
    running_ = survives;
    if (!survives) awaited_ = {};
    finished_ = submitted_ - (survives ? 1 : 0);
    failure_ = TaskResult();
    waiters_ = 0;
    helpers_ = survives && runner_helps_ ? 1 : 0;
    work_.restart_in_child();
    done_.restart_in_child();
    static_cast<void>(worker_.release());  // neither joinable nor destructible: its thread exists in the parent only
}

std::shared_ptr<Stream> open_stream(std::weak_ptr<Context> context, int32_t device) {
    State& all = state();
    auto stream = std::make_shared<Stream>(std::move(context), device, all.next_stream_id);
    all.streams.push_back(stream);
    ++all.next_stream_id;
    return stream;
}

void close_stream(Lock& lock, const std::shared_ptr<Stream>& stream, bool drop) {
    stream->close(lock, drop);
    end_reports(*stream);
    auto& streams = state().streams;
    streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
}

}  // namespace acl_attn::runtime
