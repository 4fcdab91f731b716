// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Events. What an event recorded is a point in a stream's order, so that it is complete exactly when the stream has
// passed the point, also if the task there was dropped or its stream destroyed: nothing can wait for ever.
#include <algorithm>

#include "runtime/api.h"
#include "runtime/stream_queue.h"

namespace acl_attn::runtime {
namespace {

constexpr uint32_t kEventFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                                 ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

using Clock = std::chrono::steady_clock;

struct Record {
    Point point;
    bool is_timed = false;
    Clock::time_point time;
};

struct Event {
    bool can_time = true;
    bool can_be_waited_for = true;
    bool can_be_reset = true;
    std::shared_ptr<Record> record;  // null: never recorded, or reset
    std::vector<Point> waits;        // the aclrtStreamWaitEvent tasks that may be pending
};

class RecordTask : public Task {
public:
    explicit RecordTask(std::shared_ptr<Record> record) : record_(std::move(record)) {}
    TaskResult run() noexcept override {
        Lock lock(state().mutex);
        record_->time = Clock::now();
        record_->is_timed = true;
        return {};
    }

private:
    std::shared_ptr<Record> record_;
};

class WaitTask : public Task {
public:
    explicit WaitTask(std::shared_ptr<Record> record) : record_(std::move(record)) {}
    TaskResult run() noexcept override {
        const std::shared_ptr<Stream> awaited = record_->point.stream.lock();
        Lock lock(state().mutex);
        if (awaited == nullptr || record_->point.is_passed()) return {};
        if (awaited->waits_for_this_thread()) {
            return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtStreamWaitEvent: the event's stream waits for this one"};
        }
        const Waiting waiting({awaited.get(), record_->point.sequence});
        state().wait_for_progress(lock, -1, [&] { return record_->point.is_passed() || is_task_dropped(); });
        return {};
    }

private:
    std::shared_ptr<Record> record_;
};

class ResetTask : public Task {
public:
    ResetTask(std::shared_ptr<Event> event, std::shared_ptr<Record> record)
        : event_(std::move(event)), record_(std::move(record)) {}
    TaskResult run() noexcept override {
        Lock lock(state().mutex);
        if (event_->record == record_) event_->record = nullptr;  // else it was recorded anew meanwhile
        return {};
    }

private:
    std::shared_ptr<Event> event_;
    std::shared_ptr<Record> record_;
};

aclError find_event(const char* parameter, aclrtEvent handle, std::shared_ptr<Event>* event) {
    *event = find<Event>(Kind::event, handle);
    return *event != nullptr ? ACL_SUCCESS : bad_handle(parameter, Kind::event, handle);
}

aclError create(aclrtEvent* event, uint32_t flag, Event properties) {
    if (event == nullptr) return null_result("event");
    if ((flag & ~kEventFlags) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, text("flag: expected a combination of ACL_EVENT_..., got ", flag));
    }
    std::shared_ptr<Context> context;
    if (const aclError error = current_context(&context)) return error;
    *event = insert(Kind::event, std::make_shared<Event>(std::move(properties)));
    return ACL_SUCCESS;
}

// Queues `task` on the stream and tells where. State lock held.
aclError push_at(Stream& stream, std::unique_ptr<Task> task, Point* point) {
    if (stream.is_closed()) {
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream: expected a live aclrtStream, got a destroyed one");
    }
    if (const aclError error = stream.push(std::move(task))) return error;
    *point = {stream.shared_from_this(), stream.submitted()};
    return ACL_SUCCESS;
}

aclError synchronize(aclrtEvent handle, int32_t timeout) {
    std::shared_ptr<Event> event;
    if (const aclError error = check_timeout(timeout)) return error;
    if (const aclError error = find_event("event", handle, &event)) return error;
    Lock lock(state().mutex);
    const std::shared_ptr<Record> record = event->record;
    if (record == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "event: expected a recorded event, got one that was never recorded; "
                                                "call aclrtRecordEvent first");
    }
    const std::shared_ptr<Stream> stream = record->point.stream.lock();
    if (stream == nullptr) return ACL_SUCCESS;
    if (!record->point.is_passed() && stream->waits_for_this_thread()) return check_may_wait("aclrtSynchronizeEvent");
    if (stream->wait_until(lock, record->point.sequence, timeout)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, text("event: not complete within ", timeout, " ms"));
}

// State lock held.
aclError timed_record(const char* parameter, const Event& event, std::shared_ptr<Record>* record) {
    if (!event.can_time) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                    text(parameter, ": expected an event that keeps time, got one made without ACL_EVENT_TIME_LINE"));
    }
    *record = event.record;
    if (*record == nullptr) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                    text(parameter, ": expected a recorded event, got one that was never recorded"));
    }
    if (!(*record)->point.is_passed()) {
        return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE,
                    text(parameter, ": not complete yet; call aclrtSynchronizeEvent first"));
    }
    if (!(*record)->is_timed) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                    text(parameter, ": its record was dropped, after a failure or with its stream"));
    }
    return ACL_SUCCESS;
}

}  // namespace
}  // namespace acl_attn::runtime

extern "C" {
using namespace acl_attn;
using namespace acl_attn::runtime;

aclError aclrtCreateEvent(aclrtEvent* event) {
    return entry("aclrtCreateEvent", [&] { return create(event, 0, {}); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return entry("aclrtCreateEventWithFlag", [&] {
        Event properties;
        properties.can_time = (flag & ACL_EVENT_TIME_LINE) != 0;
        properties.can_be_waited_for = properties.can_be_reset = (flag & ACL_EVENT_SYNC) != 0;
        return create(event, flag, properties);
    });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return entry("aclrtCreateEventExWithFlag", [&] {
        Event properties;
        properties.can_time = (flag & ACL_EVENT_TIME_LINE) != 0;
        properties.can_be_reset = false;
        return create(event, flag, properties);
    });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    return entry("aclrtDestroyEvent", [&]() -> aclError {
        std::shared_ptr<Event> found;
        return take(Kind::event, event, &found) == Taken::ok ? ACL_SUCCESS : bad_handle("event", Kind::event, event);
    });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return entry("aclrtRecordEvent", [&]() -> aclError {
        std::shared_ptr<Event> found;
        std::shared_ptr<Stream> target;
        if (const aclError error = find_event("event", event, &found)) return error;
        if (const aclError error = usable_stream(stream, &target)) return error;
        auto record = std::make_shared<Record>();
        auto task = std::make_unique<RecordTask>(record);
        Lock lock(state().mutex);
        if (const aclError error = push_at(*target, std::move(task), &record->point)) return error;
        found->record = std::move(record);
        return ACL_SUCCESS;
    });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return entry("aclrtResetEvent", [&]() -> aclError {
        std::shared_ptr<Event> found;
        std::shared_ptr<Stream> target;
        if (const aclError error = find_event("event", event, &found)) return error;
        if (const aclError error = usable_stream(stream, &target)) return error;
        if (!found->can_be_reset) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        "event: expected one made with ACL_EVENT_SYNC by aclrtCreateEvent or aclrtCreateEventWithFlag; "
                        "others are recorded again without a reset");
        }
        Lock lock(state().mutex);
        Point point;
        return push_at(*target, std::make_unique<ResetTask>(found, found->record), &point);
    });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return entry("aclrtStreamWaitEvent", [&]() -> aclError {
        std::shared_ptr<Event> found;
        std::shared_ptr<Stream> target;
        if (const aclError error = usable_stream(stream, &target)) return error;
        if (const aclError error = find_event("event", event, &found)) return error;
        if (!found->can_be_waited_for) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        "event: expected one that streams can wait for, got one made without ACL_EVENT_SYNC");
        }
        Lock lock(state().mutex);
        if (found->record == nullptr || found->record->point.is_passed()) return ACL_SUCCESS;
        Point point;
        if (const aclError error = push_at(*target, std::make_unique<WaitTask>(found->record), &point)) return error;
        auto& waits = found->waits;
        const auto is_passed = [](const Point& wait) { return wait.is_passed(); };
        waits.erase(std::remove_if(waits.begin(), waits.end(), is_passed), waits.end());
        waits.push_back(std::move(point));
        return ACL_SUCCESS;
    });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return entry("aclrtQueryEventStatus", [&]() -> aclError {
        if (status == nullptr) return null_result("status");
        std::shared_ptr<Event> found;
        if (const aclError error = find_event("event", event, &found)) return error;
        Lock lock(state().mutex);
        const bool complete = found->record != nullptr && found->record->point.is_passed();
        *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
    return entry("aclrtQueryEvent", [&]() -> aclError {
        if (status == nullptr) return null_result("status");
        aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        if (const aclError error = aclrtQueryEventStatus(event, &recorded)) return error;
        const bool complete = recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE;
        *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    return entry("aclrtQueryEventWaitStatus", [&]() -> aclError {
        if (status == nullptr) return null_result("status");
        std::shared_ptr<Event> found;
        if (const aclError error = find_event("event", event, &found)) return error;
        Lock lock(state().mutex);
        const bool complete = std::all_of(found->waits.begin(), found->waits.end(),
                                          [](const Point& wait) { return wait.is_passed(); });
        *status = complete ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return entry("aclrtSynchronizeEvent", [&] { return synchronize(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    return entry("aclrtSynchronizeEventWithTimeout", [&] { return synchronize(event, timeout); });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return entry("aclrtEventElapsedTime", [&]() -> aclError {
        if (ms == nullptr) return null_result("ms");
        std::shared_ptr<Event> start, end;
        if (const aclError error = find_event("startEvent", startEvent, &start)) return error;
        if (const aclError error = find_event("endEvent", endEvent, &end)) return error;
        Lock lock(state().mutex);
        std::shared_ptr<Record> from, to;
        if (const aclError error = timed_record("startEvent", *start, &from)) return error;
        if (const aclError error = timed_record("endEvent", *end, &to)) return error;
        if (to->time < from->time) {
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                        "endEvent: expected an event recorded after startEvent, got an earlier one");
        }
        *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
        return ACL_SUCCESS;
    });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    return entry("aclrtEventGetTimestamp", [&]() -> aclError {
        if (timestamp == nullptr) return null_result("timestamp");
        std::shared_ptr<Event> found;
        if (const aclError error = find_event("event", event, &found)) return error;
        Lock lock(state().mutex);
        std::shared_ptr<Record> record;
        if (const aclError error = timed_record("event", *found, &record)) return error;
        const auto since_start = record->time.time_since_epoch();
        *timestamp = std::chrono::duration_cast<std::chrono::microseconds>(since_start).count();
        return ACL_SUCCESS;
    });
}

}  // extern "C"
