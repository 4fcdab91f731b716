// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Order, asynchrony, failures, destruction of streams; many threads at once.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "acl_attn/acl_attn.h"
#include "check.h"
#include "gate.h"

static void test_order() {
    aclrtStream stream = nullptr;
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK_EQUAL(status, ACL_STREAM_STATUS_COMPLETE);
    Gate gate;
    Log log;
    std::vector<Entry> entries;
    for (int i = 0; i < 100; ++i) entries.push_back({&log, i});
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    for (Entry& entry : entries) CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    gate.wait_for_arrival();  // runs without anybody waiting for the stream
    CHECK_OK(aclrtStreamQuery(stream, &status));
    CHECK_EQUAL(status, ACL_STREAM_STATUS_NOT_READY);
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "10 ms");
    CHECK_FAILS(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "10 ms");
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID, "timeout");
    CHECK(log.entries.empty());
    gate.open();
    CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, 60000));
    CHECK(log.entries.size() == 100 && std::is_sorted(log.entries.begin(), log.entries.end()));
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_other_streams_go_on() {
    aclrtStream held = nullptr, free_stream = nullptr;
    CHECK_OK(aclrtCreateStream(&held));
    CHECK_OK(aclrtCreateStream(&free_stream));
    Gate gate;
    Log log;
    Entry entry{&log, 1};
    CHECK_OK(aclrtLaunchHostFunc(held, Gate::hold, &gate));
    CHECK_OK(aclrtLaunchHostFunc(free_stream, Entry::note, &entry));
    CHECK_OK(aclrtLaunchHostFunc(nullptr, Entry::note, &entry));
    CHECK_OK(aclrtSynchronizeStream(free_stream));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQUAL(log.entries.size(), 2);
    gate.open();
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtDestroyStream(held));
    CHECK_OK(aclrtDestroyStream(free_stream));
}

static void test_failures() {
    aclrtStream stream = nullptr;
    Log log;
    Entry entry{&log, 1};
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, throw_error, nullptr));
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    CHECK_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INTERNAL_ERROR, "the callback threw");
    CHECK_OK(aclrtSynchronizeStream(stream));  // reported once
    CHECK_EQUAL(log.entries.size(), 1);

    CHECK_OK(aclrtLaunchHostFunc(stream, throw_error, nullptr));
    CHECK_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_INTERNAL_ERROR, "the callback threw");
    CHECK_OK(aclrtSynchronizeDevice());

    CHECK_FAILS(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID, "mode");
    CHECK_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    CHECK_OK(aclrtLaunchHostFunc(stream, throw_error, nullptr));
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    CHECK_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INTERNAL_ERROR, "the callback threw");
    CHECK_EQUAL(log.entries.size(), 1);  // dropped
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQUAL(log.entries.size(), 2);  // the report ended it

    CHECK_OK(aclrtLaunchHostFunc(stream, throw_error, nullptr));
    CHECK_FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_INTERNAL_ERROR, "the callback threw");
    CHECK_FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtStream");
    CHECK_FAILS(aclrtLaunchHostFunc(nullptr, nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "fn");
}

static void test_handles() {
    aclrtStream stream = nullptr;
    int32_t id = -1, least = -1, greatest = -1;
    int local = 0;
    CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    CHECK_OK(aclrtStreamGetId(stream, &id));
    CHECK(id >= 0);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "a destroyed aclrtStream");
    CHECK_FAILS(aclrtLaunchHostFunc(stream, throw_error, nullptr), ACL_ERROR_RT_INVALID_HANDLE, "stream");
    CHECK_FAILS(aclrtStreamGetId(&local, &id), ACL_ERROR_RT_INVALID_HANDLE, "no handle of this library");
    CHECK_FAILS(aclrtDestroyStream(&local), ACL_ERROR_RT_INVALID_HANDLE, "no handle of this library");
    CHECK_FAILS(aclrtDestroyStream(nullptr), ACL_ERROR_RT_INVALID_HANDLE, "null");
    CHECK_FAILS(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM, "stream");
    CHECK_FAILS(aclrtCreateStreamWithConfig(&stream, 8, 0), ACL_ERROR_RT_PARAM_INVALID, "priority");
    CHECK_FAILS(aclrtCreateStreamWithConfig(&stream, 0, 0x80), ACL_ERROR_RT_PARAM_INVALID, "flag");
    CHECK_OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 7 && greatest == 0);
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 0);
}

static void test_destruction() {
    // Plain: what is queued runs first.
    aclrtStream stream = nullptr;
    Log log;
    std::vector<Entry> entries;
    for (int i = 0; i < 50; ++i) entries.push_back({&log, i});
    CHECK_OK(aclrtCreateStream(&stream));
    for (Entry& entry : entries) CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_EQUAL(log.entries.size(), 50);

    // By force: what has not started is dropped.
    Gate gate;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entries[0]));
    gate.wait_for_arrival();
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        gate.open();
    });
    CHECK_OK(aclrtDestroyStreamForce(stream));
    opener.join();
    CHECK_EQUAL(log.entries.size(), 50);
}

// A task that waits is no reason to wait: for another stream, or for a callback that nobody runs.
static void test_force_ends_waits() {
    aclrtStream busy = nullptr, waiting = nullptr, calling = nullptr;
    aclrtEvent event = nullptr;
    Gate gate;
    for (aclrtStream* stream : {&busy, &waiting, &calling}) CHECK_OK(aclrtCreateStream(stream));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtLaunchHostFunc(busy, Gate::hold, &gate));
    CHECK_OK(aclrtRecordEvent(event, busy));
    CHECK_OK(aclrtStreamWaitEvent(waiting, event));
    const uint64_t thread = static_cast<uint64_t>(pthread_self());
    CHECK_OK(aclrtSubscribeReport(thread, busy));
    CHECK_OK(aclrtSubscribeReport(thread, calling));
    CHECK_OK(aclrtLaunchCallback(throw_error, nullptr, ACL_CALLBACK_BLOCK, calling));
    gate.wait_for_arrival();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // let the other two begin to wait
    CHECK_OK(aclrtDestroyStreamForce(waiting));
    CHECK_OK(aclrtDestroyStreamForce(calling));
    CHECK_FAILS(aclrtProcessReport(0), ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback");  // it went with its stream
    gate.open();
    CHECK_OK(aclrtDestroyStream(busy));
    CHECK_OK(aclrtDestroyEvent(event));
}

struct Inside {
    aclrtStream stream;
    aclError sync = 0, destroy = 0, device = 0, submit = 0;
    static void run(void* argument) {
        Inside* self = static_cast<Inside*>(argument);
        aclrtSetDevice(0);
        self->sync = aclrtSynchronizeStream(self->stream);
        self->destroy = aclrtDestroyStream(self->stream);
        self->device = aclrtSynchronizeDevice();
        self->submit = aclrtLaunchHostFunc(self->stream, [](void*) {}, nullptr);
        aclrtResetDevice(0);
    }
};

// A task that waits for its own stream would wait for ever.
static void test_calls_from_inside_a_task() {
    Inside inside{};
    CHECK_OK(aclrtCreateStream(&inside.stream));
    CHECK_OK(aclrtLaunchHostFunc(inside.stream, Inside::run, &inside));
    CHECK_OK(aclrtSynchronizeStream(inside.stream));
    CHECK_EQUAL(inside.sync, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQUAL(inside.destroy, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQUAL(inside.device, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    CHECK_EQUAL(inside.submit, ACL_SUCCESS);
    CHECK_OK(aclrtDestroyStream(inside.stream));
}

// Two tasks that wait for each other's streams: whoever comes last is refused, and the other one's wait ends.
struct Embrace {
    aclrtStream other;
    std::atomic<int>* arrived;
    std::atomic<int>* refused;
    static void run(void* argument) {
        Embrace* self = static_cast<Embrace*>(argument);
        aclrtSetDevice(0);
        ++*self->arrived;
        while (*self->arrived < 2) std::this_thread::yield();
        const aclError error = aclrtSynchronizeStream(self->other);
        *self->refused += error == ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
        aclrtResetDevice(0);
    }
};

static void test_tasks_that_wait_for_each_other() {
    for (int round = 0; round < 20; ++round) {
        aclrtStream streams[2];
        for (aclrtStream& stream : streams) CHECK_OK(aclrtCreateStream(&stream));
        std::atomic<int> arrived{0}, refused{0};
        Embrace first{streams[1], &arrived, &refused}, second{streams[0], &arrived, &refused};
        CHECK_OK(aclrtLaunchHostFunc(streams[0], Embrace::run, &first));
        CHECK_OK(aclrtLaunchHostFunc(streams[1], Embrace::run, &second));
        CHECK_OK(aclrtSynchronizeStreamWithTimeout(streams[0], 60000));
        CHECK_OK(aclrtSynchronizeStreamWithTimeout(streams[1], 60000));
        CHECK_EQUAL(refused.load(), 1);
        for (aclrtStream stream : streams) CHECK_OK(aclrtDestroyStream(stream));
    }
}

// A task waits for a stream that waits for an event behind that task. One of the two waits is refused, whichever began
// last: the stream's shows when it is synchronised.
static void test_a_task_and_an_event_that_wait_for_each_other() {
    struct Waiter {
        aclrtStream other;
        Gate gate;
        aclError error = 0;
        static void run(void* argument) {
            Waiter* self = static_cast<Waiter*>(argument);
            aclrtSetDevice(0);
            Gate::hold(&self->gate);
            self->error = aclrtSynchronizeStream(self->other);
            aclrtResetDevice(0);
        }
    };
    for (const bool waits_first : {true, false}) {
        aclrtStream stream = nullptr, other = nullptr;
        aclrtEvent event = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        CHECK_OK(aclrtCreateStream(&other));
        CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
        Waiter waiter;
        waiter.other = other;
        Gate gate;
        if (!waits_first) CHECK_OK(aclrtLaunchHostFunc(other, Gate::hold, &gate));
        CHECK_OK(aclrtLaunchHostFunc(stream, Waiter::run, &waiter));
        CHECK_OK(aclrtRecordEvent(event, stream));
        CHECK_OK(aclrtStreamWaitEvent(other, event));
        waiter.gate.wait_for_arrival();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the wait for the event begins
        waiter.gate.open();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the wait for the stream begins
        if (!waits_first) gate.open();
        CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, 60000));
        const aclError other_error = aclrtSynchronizeStreamWithTimeout(other, 60000);
        CHECK((waiter.error == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) != (other_error == ACL_ERROR_RT_FEATURE_NOT_SUPPORT));
        CHECK_OK(aclrtDestroyEvent(event));
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtDestroyStream(other));
    }
}

// Many threads submit to, synchronise and query the same few streams: every task runs once, one at a time a stream.
static void test_many_threads() {
    constexpr int kThreads = 8, kStreams = 3, kRounds = 200;
    struct Counter {
        std::atomic<int> inside{0}, ran{0}, overlaps{0};
        static void count(void* argument) {
            Counter* self = static_cast<Counter*>(argument);
            if (self->inside.fetch_add(1) != 0) self->overlaps.fetch_add(1);
            self->ran.fetch_add(1);
            self->inside.fetch_sub(1);
        }
    } counters[kStreams];
    aclrtStream streams[kStreams];
    for (aclrtStream& stream : streams) CHECK_OK(aclrtCreateStream(&stream));
    std::atomic<int> errors{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            errors += aclrtSetDevice(0) != ACL_SUCCESS;
            for (int i = 0; i < kRounds; ++i) {
                const int s = (t + i) % kStreams;
                aclrtStreamStatus status;
                errors += aclrtLaunchHostFunc(streams[s], Counter::count, &counters[s]) != ACL_SUCCESS;
                if (i % 3 == 0) errors += aclrtSynchronizeStream(streams[s]) != ACL_SUCCESS;
                if (i % 7 == 0) errors += aclrtSynchronizeDevice() != ACL_SUCCESS;
                errors += aclrtStreamQuery(streams[s], &status) != ACL_SUCCESS;
            }
            errors += aclrtResetDevice(0) != ACL_SUCCESS;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_OK(aclrtSynchronizeDevice());
    int ran = 0;
    for (int s = 0; s < kStreams; ++s) {
        ran += counters[s].ran;
        CHECK_EQUAL(counters[s].overlaps.load(), 0);
        CHECK_OK(aclrtDestroyStream(streams[s]));
    }
    CHECK_EQUAL(ran, kThreads * kRounds);
    CHECK_EQUAL(errors.load(), 0);
}

// Destroying a stream that other threads use: they get a success or a clean error, and one destroyer wins.
static void test_destroy_races() {
    for (int round = 0; round < 30; ++round) {
        aclrtStream stream = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        std::atomic<int> destroyed{0}, odd{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                aclrtSetDevice(0);
                for (int i = 0; i < 20; ++i) {
                    const aclError error = aclrtLaunchHostFunc(stream, [](void*) {}, nullptr);
                    const aclError waited = aclrtSynchronizeStream(stream);
                    odd += error != ACL_SUCCESS && error != ACL_ERROR_RT_INVALID_HANDLE;
                    odd += waited != ACL_SUCCESS && waited != ACL_ERROR_RT_INVALID_HANDLE;
                    if (i == 5 + t) destroyed += aclrtDestroyStream(stream) == ACL_SUCCESS;
                }
                aclrtResetDevice(0);
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK_EQUAL(destroyed.load(), 1);
        CHECK_EQUAL(odd.load(), 0);
    }
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_order();
    test_other_streams_go_on();
    test_failures();
    test_handles();
    test_destruction();
    test_force_ends_waits();
    test_calls_from_inside_a_task();
    test_tasks_that_wait_for_each_other();
    test_a_task_and_an_event_that_wait_for_each_other();
    test_many_threads();
    test_destroy_races();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 0);
    return check_result();
}
