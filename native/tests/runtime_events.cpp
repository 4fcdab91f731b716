// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Events, and callbacks on threads of the program.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "acl_attn/acl_attn.h"
#include "check.h"
#include "gate.h"

static aclrtEventRecordedStatus status_of(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    return status;
}

static void test_record() {
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    aclrtEventStatus old_status = ACL_EVENT_STATUS_RESERVED;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_EQUAL(status_of(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_FAILS(aclrtSynchronizeEvent(event), ACL_ERROR_RT_PARAM_INVALID, "never recorded");
    Gate gate;
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_EQUAL(status_of(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclrtQueryEvent(event, &old_status));
    CHECK_EQUAL(old_status, ACL_EVENT_STATUS_NOT_READY);
    CHECK_FAILS(aclrtSynchronizeEventWithTimeout(event, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "10 ms");
    gate.open();
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_EQUAL(status_of(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtQueryEvent(event, &old_status));
    CHECK_EQUAL(old_status, ACL_EVENT_STATUS_COMPLETE);
    CHECK_OK(aclrtResetEvent(event, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQUAL(status_of(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);

    // An event outlives its stream, and says complete.
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_EQUAL(status_of(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_FAILS(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtEvent");
    CHECK_FAILS(aclrtRecordEvent(event, nullptr), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtEvent");
    CHECK_FAILS(aclrtSynchronizeEvent(&stream), ACL_ERROR_RT_INVALID_HANDLE, "no handle of this library");
    CHECK_FAILS(aclrtCreateEventWithFlag(&event, 0x80), ACL_ERROR_RT_PARAM_INVALID, "flag");
}

static void test_time() {
    aclrtStream stream = nullptr;
    aclrtEvent start = nullptr, end = nullptr, untimed = nullptr;
    float ms = -1;
    uint64_t first = 0, second = 0;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEventWithFlag(&start, ACL_EVENT_TIME_LINE));
    CHECK_OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE));
    CHECK_OK(aclrtCreateEventWithFlag(&untimed, ACL_EVENT_SYNC));
    CHECK_FAILS(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "startEvent");
    Gate gate;
    CHECK_OK(aclrtRecordEvent(start, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(aclrtRecordEvent(end, stream));
    CHECK_OK(aclrtRecordEvent(untimed, stream));
    CHECK_OK(aclrtSynchronizeEvent(start));
    CHECK_FAILS(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE, "endEvent");
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtEventElapsedTime(&ms, start, end));
    CHECK(ms >= 29.0f && ms < 60000.0f);
    CHECK_FAILS(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "endEvent");
    CHECK_FAILS(aclrtEventElapsedTime(&ms, start, untimed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "ACL_EVENT_TIME_LINE");
    CHECK_OK(aclrtEventGetTimestamp(start, &first));
    CHECK_OK(aclrtEventGetTimestamp(end, &second));
    CHECK(second - first >= 29000);
    CHECK_FAILS(aclrtResetEvent(end, stream), ACL_ERROR_RT_PARAM_INVALID, "ACL_EVENT_SYNC");
    CHECK_OK(aclrtDestroyEvent(start));
    CHECK_OK(aclrtDestroyEvent(end));
    CHECK_OK(aclrtDestroyEvent(untimed));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_wait() {
    aclrtStream producer = nullptr, consumer = nullptr;
    aclrtEvent event = nullptr, no_sync = nullptr;
    aclrtEventWaitStatus waiting = ACL_EVENT_WAIT_STATUS_RESERVED;
    CHECK_OK(aclrtCreateStream(&producer));
    CHECK_OK(aclrtCreateStream(&consumer));
    CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtCreateEventWithFlag(&no_sync, ACL_EVENT_TIME_LINE));
    CHECK_FAILS(aclrtStreamWaitEvent(consumer, no_sync), ACL_ERROR_RT_PARAM_INVALID, "ACL_EVENT_SYNC");
    CHECK_OK(aclrtStreamWaitEvent(consumer, event));  // never recorded: holds nothing up
    CHECK_OK(aclrtSynchronizeStream(consumer));

    Gate gate;
    Log log;
    Entry produced{&log, 1}, consumed{&log, 2};
    CHECK_OK(aclrtLaunchHostFunc(producer, Gate::hold, &gate));
    CHECK_OK(aclrtLaunchHostFunc(producer, Entry::note, &produced));
    CHECK_OK(aclrtRecordEvent(event, producer));
    CHECK_OK(aclrtStreamWaitEvent(consumer, event));
    CHECK_OK(aclrtLaunchHostFunc(consumer, Entry::note, &consumed));
    CHECK_OK(aclrtQueryEventWaitStatus(event, &waiting));
    CHECK_EQUAL(waiting, ACL_EVENT_WAIT_STATUS_NOT_READY);
    CHECK_OK(aclrtDestroyEvent(event));  // what is queued is carried out all the same
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(consumer, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "20 ms");
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(consumer));
    CHECK(log.entries == std::vector<int>({1, 2}));

    // A record that is dropped with its stream releases who waits for it.
    Gate second_gate;
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtLaunchHostFunc(producer, Gate::hold, &second_gate));
    second_gate.wait_for_arrival();
    CHECK_OK(aclrtRecordEvent(event, producer));
    CHECK_OK(aclrtStreamWaitEvent(consumer, event));
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        second_gate.open();
    });
    CHECK_OK(aclrtDestroyStreamForce(producer));
    opener.join();
    CHECK_OK(aclrtSynchronizeStream(consumer));
    CHECK_OK(aclrtQueryEventWaitStatus(event, &waiting));
    CHECK_EQUAL(waiting, ACL_EVENT_WAIT_STATUS_COMPLETE);
    uint64_t timestamp = 0;
    CHECK_FAILS(aclrtEventGetTimestamp(event, &timestamp), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "dropped");
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyEvent(no_sync));
    CHECK_OK(aclrtDestroyStream(consumer));
}

// A ring of streams that hand a token round by events.
static void test_many_waits() {
    constexpr int kStreams = 4, kRounds = 50;
    aclrtStream streams[kStreams];
    aclrtEvent events[kStreams];
    Log log;
    std::vector<Entry> entries;
    for (int i = 0; i < kStreams * kRounds; ++i) entries.push_back({&log, i});
    for (int s = 0; s < kStreams; ++s) {
        CHECK_OK(aclrtCreateStream(&streams[s]));
        CHECK_OK(aclrtCreateEventExWithFlag(&events[s], ACL_EVENT_SYNC));
    }
    for (int i = 0; i < kStreams * kRounds; ++i) {
        const int s = i % kStreams, before = (i + kStreams - 1) % kStreams;
        CHECK_OK(aclrtStreamWaitEvent(streams[s], events[before]));
        CHECK_OK(aclrtLaunchHostFunc(streams[s], Entry::note, &entries[i]));
        CHECK_OK(aclrtRecordEvent(events[s], streams[s]));
    }
    CHECK_OK(aclrtSynchronizeDevice());
    bool in_order = log.entries.size() == entries.size();
    for (size_t i = 0; in_order && i < entries.size(); ++i) in_order = log.entries[i] == static_cast<int>(i);
    CHECK(in_order);
    for (int s = 0; s < kStreams; ++s) {
        CHECK_OK(aclrtDestroyEvent(events[s]));
        CHECK_OK(aclrtDestroyStream(streams[s]));
    }
}

static void test_callbacks() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Log log;
    Entry called{&log, 1}, after{&log, 2};
    CHECK_FAILS(aclrtLaunchCallback(Entry::note, &called, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                "aclrtSubscribeReport");
    CHECK_FAILS(aclrtProcessReport(0), ACL_ERROR_THREAD_NOT_SUBSCRIBE, "aclrtSubscribeReport");
    std::atomic<bool> stop{false};
    std::atomic<int> odd{0};
    std::atomic<pthread_t> id{};
    std::atomic<bool> subscribed{false};
    std::thread reporter([&] {
        id = pthread_self();
        while (!subscribed) std::this_thread::yield();
        while (!stop) {
            const aclError error = aclrtProcessReport(10);
            odd += error != ACL_SUCCESS && error != ACL_ERROR_WAIT_CALLBACK_TIMEOUT &&
                   error != ACL_ERROR_THREAD_NOT_SUBSCRIBE;
        }
    });
    while (id.load() == pthread_t{}) std::this_thread::yield();
    const uint64_t thread = static_cast<uint64_t>(id.load());
    CHECK_OK(aclrtSubscribeReport(thread, stream));
    CHECK_FAILS(aclrtSubscribeReport(thread, stream), ACL_ERROR_REPEAT_SUBSCRIBE, "aclrtUnSubscribeReport");
    subscribed = true;
    CHECK_OK(aclrtLaunchCallback(Entry::note, &called, ACL_CALLBACK_BLOCK, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &after));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(log.entries == std::vector<int>({1, 2}));
    CHECK_OK(aclrtUnSubscribeReport(thread, stream));
    CHECK_FAILS(aclrtUnSubscribeReport(thread, stream), ACL_ERROR_THREAD_NOT_SUBSCRIBE, "serves no stream");
    stop = true;
    reporter.join();
    CHECK_EQUAL(odd.load(), 0);

    // A callback that waits for a thread which never comes is released by the end of the subscription.
    CHECK_OK(aclrtSubscribeReport(12345, stream));
    CHECK_OK(aclrtLaunchCallback(Entry::note, &called, ACL_CALLBACK_BLOCK, stream));
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "20 ms");
    CHECK_OK(aclrtUnSubscribeReport(12345, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQUAL(log.entries.size(), 2);
    CHECK_OK(aclrtDestroyStream(stream));
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_record();
    test_time();
    test_wait();
    test_many_waits();
    test_callbacks();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_EVENT), 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 0);
    return check_result();
}
