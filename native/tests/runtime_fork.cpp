// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A child of fork() goes on with the streams, memory and objects it inherited, whatever the parent's threads were
// doing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "acl_attn/acl_attn.h"
#include "aclnn/acl_meta.h"
#include "check.h"
#include "gate.h"

// Runs `body` in a child; its checks decide the exit status. A child that hangs is killed, which fails the check.
template <class Body>
static void in_child(Body body) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        check_failures = 0;
        body();
        std::fflush(stdout);
        _exit(check_failures == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_queued_work() {
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    void* memory = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtMalloc(&memory, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    Gate gate;
    Log log;
    Entry entry{&log, 1};
    CHECK_OK(aclrtLaunchHostFunc(stream, Gate::hold, &gate));
    CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &entry));
    CHECK_OK(aclrtRecordEvent(event, stream));
    gate.wait_for_arrival();
    std::thread waiter([&] {
        aclrtSetDevice(0);
        aclrtSynchronizeStream(stream);
        aclrtResetDevice(0);
    });
    // Let it wait: a condition variable that has waiters at fork() is unusable in the child.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    in_child([&] {
        aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
        CHECK_OK(aclrtStreamQuery(stream, &status));
        CHECK_EQUAL(status, ACL_STREAM_STATUS_COMPLETE);  // the parent's tasks are the parent's
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_OK(aclrtSynchronizeEvent(event));
        Log own;
        std::vector<Entry> entries;
        for (int i = 0; i < 10; ++i) entries.push_back({&own, i});
        for (Entry& each : entries) CHECK_OK(aclrtLaunchHostFunc(stream, Entry::note, &each));
        CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, 30000));  // by a new worker
        CHECK_EQUAL(own.entries.size(), 10);
        CHECK_OK(aclrtMemsetAsync(memory, 1000, 1, 1000, stream));
        CHECK_OK(aclrtRecordEvent(event, stream));
        CHECK_OK(aclrtSynchronizeEventWithTimeout(event, 30000));
        CHECK_OK(aclrtFree(memory));
        CHECK_OK(aclrtDestroyEvent(event));
        CHECK_OK(aclrtDestroyStream(stream));
        CHECK_OK(aclrtResetDeviceForce(0));
    });
    gate.open();
    waiter.join();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQUAL(log.entries.size(), 1);  // in the parent nothing was lost
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(stream));
}

// Threads hold every lock there is in turn while the main thread forks.
static void test_busy_threads() {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            aclrtSetDevice(0);
            aclrtStream stream = nullptr;
            aclrtCreateStream(&stream);
            while (!stop) {
                void* memory = nullptr;
                const int64_t values[] = {1, 2};
                aclIntArray* array = aclCreateIntArray(values, 2);
                aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
                aclrtMemsetAsync(memory, 64, 0, 64, stream);
                aclrtSynchronizeStream(stream);
                aclrtFree(memory);
                aclDestroyIntArray(array);
            }
            aclrtDestroyStream(stream);
            aclrtResetDevice(0);
        });
    }
    for (int round = 0; round < 20; ++round) {
        in_child([] {
            void* memory = nullptr;
            aclrtStream stream = nullptr;
            const int64_t values[] = {1, 2};
            aclIntArray* array = aclCreateIntArray(values, 2);
            CHECK(array != nullptr);
            CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
            CHECK_OK(aclrtCreateStream(&stream));
            CHECK_OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
            CHECK_OK(aclrtSynchronizeDevice());
            CHECK_OK(aclrtDestroyStream(stream));
            CHECK_OK(aclrtFree(memory));
            CHECK_OK(aclDestroyIntArray(array));
        });
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
}

// A task that forks, run by a thread that waits for the stream. In the child that thread waits no more.
struct Forker {
    std::thread::id waiting = std::this_thread::get_id();
    pid_t child = -1;
    static void run(void* argument) {
        Forker* self = static_cast<Forker*>(argument);
        if (self->child < 0 && std::this_thread::get_id() == self->waiting) self->child = fork();
    }
};

static void test_fork_in_task() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    Forker forker;
    const auto nothing = [](void*) { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
    std::fflush(stdout);
    // Which thread takes a task is a matter of chance.
    for (int round = 0; round < 1000 && forker.child < 0; ++round) {
        CHECK_OK(aclrtLaunchHostFunc(stream, nothing, nullptr));
        CHECK_OK(aclrtLaunchHostFunc(stream, Forker::run, &forker));
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    if (forker.child == 0) {
        alarm(60);
        for (int round = 0; round < 3; ++round) {  // the second finds a worker asleep
            CHECK_OK(aclrtLaunchHostFunc(stream, nothing, nullptr));
            CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        std::fflush(stdout);
        _exit(check_failures == 0 ? 0 : 1);
    }
    CHECK(forker.child > 0);
    int status = -1;
    waitpid(forker.child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(aclrtDestroyStream(stream));
}

int main() {
    CHECK_OK(aclrtSetDevice(0));
    test_queued_work();
    test_busy_threads();
    test_fork_in_task();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_EQUAL(aclAttnGetLiveObjects(ACL_ATTN_OBJECT_STREAM), 0);
    return check_result();
}
