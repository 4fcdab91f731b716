// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Host callbacks in the stream's order: on threads of the program that ask for them (reports), or as tasks.
#include <pthread.h>

#include <algorithm>
#include <deque>

#include "runtime/api.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {

struct Report {
    aclrtCallback function = nullptr;
    void* argument = nullptr;
    bool done = false;  // returned, or dropped because nobody will run it
};

// What is due on one of the program's threads. Exists while the thread serves at least one stream.
struct ReportQueue {
    std::deque<std::shared_ptr<Report>> due;
    int streams = 0;
};

namespace {

// A callback that throws must not take the process down.
template <class Function>
TaskResult call(const char* api, Function function, void* argument) noexcept {
    try {
        function(argument);
        return {};
    } catch (...) {
        try {
            return {ACL_ERROR_RT_INTERNAL_ERROR, text(api, ": the callback threw an exception")};
        } catch (...) {
            return {ACL_ERROR_RT_INTERNAL_ERROR, {}};
        }
    }
}

class HostFuncTask : public Task {
public:
    HostFuncTask(aclrtHostFunc function, void* argument) : function_(function), argument_(argument) {}
    TaskResult run() noexcept override { return call("aclrtLaunchHostFunc", function_, argument_); }

private:
    aclrtHostFunc function_;
    void* argument_;
};

class ReportTask : public Task {
public:
    ReportTask(std::weak_ptr<ReportQueue> queue, std::shared_ptr<Report> report, bool blocks)
        : queue_(std::move(queue)), report_(std::move(report)), blocks_(blocks) {}

    TaskResult run() noexcept override {
        Lock lock(state().mutex);
        const std::shared_ptr<ReportQueue> queue = queue_.lock();
        if (queue == nullptr) return {ACL_ERROR_STREAM_NOT_SUBSCRIBE, "aclrtLaunchCallback: its thread unsubscribed"};
        queue->due.push_back(report_);
        state().announce_progress();
        if (!blocks_) return {};
        state().wait_for_progress(lock, -1, [&] { return report_->done || is_task_dropped(); });
        // What its argument points to may go with the stream.
        auto& due = queue->due;
        if (!report_->done) due.erase(std::remove(due.begin(), due.end(), report_), due.end());
        return {};
    }

private:
    std::weak_ptr<ReportQueue> queue_;
    std::shared_ptr<Report> report_;
    const bool blocks_;
};

aclError not_subscribed(uint64_t thread) {
    return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                text("threadId: thread ", thread, " serves no stream; call aclrtSubscribeReport first"));
}

}  // namespace

void end_reports(Stream& stream) {
    auto& queues = state().report_queues;
    const auto found = queues.find(stream.report_thread);
    stream.report_thread = 0;
    if (found == queues.end() || --found->second->streams > 0) return;
    for (const auto& report : found->second->due) report->done = true;
    queues.erase(found);
    state().announce_progress();
}

}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return entry("aclrtSubscribeReport", [&]() -> aclError {
        std::shared_ptr<Stream> found;
        if (threadId == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "threadId: expected a thread's pthread_self, got 0");
        if (const aclError error = usable_stream(stream, &found)) return error;
        Lock lock(state().mutex);
        if (found->report_thread != 0) {
            return fail(ACL_ERROR_REPEAT_SUBSCRIBE,
                        text("stream: expected one without a thread, got one that thread ", found->report_thread,
                             " serves; call aclrtUnSubscribeReport first"));
        }
        auto& queue = state().report_queues[threadId];
        if (queue == nullptr) queue = std::make_shared<ReportQueue>();
        ++queue->streams;
        found->report_thread = threadId;
        return ACL_SUCCESS;
    });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return entry("aclrtUnSubscribeReport", [&]() -> aclError {
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        Lock lock(state().mutex);
        if (found->report_thread != threadId || threadId == 0) return not_subscribed(threadId);
        end_reports(*found);
        return ACL_SUCCESS;
    });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
    return entry("aclrtLaunchCallback", [&]() -> aclError {
        if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "fn: expected a function, got null");
        if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, text("blockType: expected a value of aclrtCallbackBlockType, got ",
                                                         static_cast<int>(blockType)));
        }
        std::shared_ptr<Stream> found;
        if (const aclError error = usable_stream(stream, &found)) return error;
        auto report = std::make_shared<Report>();
        report->function = fn;
        report->argument = userData;
        Lock lock(state().mutex);
        const auto queue = state().report_queues.find(found->report_thread);
        if (queue == state().report_queues.end()) {
            return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                        "stream: no thread runs its callbacks; call aclrtSubscribeReport first");
        }
        auto task = std::make_unique<ReportTask>(queue->second, std::move(report), blockType == ACL_CALLBACK_BLOCK);
        lock.unlock();
        return submit(stream, std::move(task));
    });
}

aclError aclrtProcessReport(int32_t timeout) {
    return entry("aclrtProcessReport", [&]() -> aclError {
        if (const aclError error = check_timeout(timeout)) return error;
        const uint64_t thread = static_cast<uint64_t>(pthread_self());
        State& all = state();
        Lock lock(all.mutex);
        const auto found = all.report_queues.find(thread);
        if (found == all.report_queues.end()) return not_subscribed(thread);
        const std::weak_ptr<ReportQueue> watched = found->second;
        std::shared_ptr<ReportQueue> queue;
        // Another thread may unsubscribe this one while it waits.
        all.wait_for_progress(lock, timeout, [&] {
            queue = watched.lock();
            return queue == nullptr || !queue->due.empty();
        });
        if (queue == nullptr) return not_subscribed(thread);
        if (queue->due.empty()) {
            return fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, text("timeout: no callback was due within ", timeout, " ms"));
        }
        TaskResult first;
        while (!queue->due.empty()) {
            const std::shared_ptr<Report> due = queue->due.front();
            queue->due.pop_front();
            lock.unlock();
            TaskResult result = call("aclrtProcessReport", due->function, due->argument);
            lock.lock();
            if (first.code == 0) first = std::move(result);
            due->done = true;
            all.announce_progress();
        }
        return report(std::move(first));
    });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    return entry("aclrtLaunchHostFunc", [&]() -> aclError {
        if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "fn: expected a function, got null");
        return submit(stream, std::make_unique<HostFuncTask>(fn, args));
    });
}

}  // extern "C"
