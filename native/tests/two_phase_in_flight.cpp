// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What programs do while calls are queued or computing: destroy streams and executors, reset the device, end threads,
// fork, and end. Results are right or not written at all, and nothing is left behind.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "gate.h"
#include "two_phase_scenario.h"

using namespace two_phase;

constexpr double kScale = 0.3;

// Long enough for several threads, and for what happens beside it.
static Scenario long_call() {
    Scenario s;
    s.heads = s.kv_heads = 4;
    s.dim = s.dim_v = 32;
    s.q_len = {300, 70};
    s.kv_len = {300, 200};
    s.sq = s.skv = 300;
    return s;
}

static std::vector<uint16_t> result() {
    static const std::vector<uint16_t> rows = [] {
        Prepared p(long_call(), kScale);
        expect(call(p.arguments) == 0, "the call by itself: " + recent_message());
        return p.out_rows();
    }();
    return rows;
}

// A call with memory of its own.
struct Planned {
    Prepared prepared{long_call(), kScale};
    std::vector<uint16_t> before = prepared.out;
    std::vector<uint64_t> workspace;
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;

    Planned() {
        expect(prepared.arguments.phase_one(&size, &executor) == 0, "plan: " + recent_message());
        workspace.resize(size / 8 + 2);
    }
    aclnnStatus launch(aclrtStream stream) {
        return aclnnFusedInferAttentionScoreV5(workspace.data(), size, executor, stream);
    }
    bool is_right() const { return prepared.out_rows() == result(); }
    bool is_untouched() const { return prepared.out == before; }
};

static aclrtStream new_stream() {
    aclrtStream stream = nullptr;
    expect(aclrtCreateStream(&stream) == 0, "create a stream");
    return stream;
}

static void test_streams_that_go() {
    aclrtStream stream = new_stream();
    Planned calls[3];
    for (Planned& each : calls) expect(each.launch(stream) == 0, "queue");
    expect(aclrtDestroyStream(stream) == 0, "destroy a stream with calls");
    for (Planned& each : calls) expect(each.is_right(), "they were computed first");

    stream = new_stream();
    Gate gate;
    Planned dropped;
    expect(aclrtLaunchHostFunc(stream, Gate::hold, &gate) == 0 && dropped.launch(stream) == 0, "queue behind a gate");
    gate.wait_for_arrival();
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        gate.open();
    });
    expect(aclrtDestroyStreamForce(stream) == 0, "destroy it by force");
    opener.join();
    expect(dropped.is_untouched(), "a call that is dropped writes nothing");

    // While it computes.
    for (int round = 0; round < 20; ++round) {
        stream = new_stream();
        Planned running;
        expect(running.launch(stream) == 0, "start");
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        expect(aclrtDestroyStreamForce(stream) == 0, "destroy its stream by force");
        expect(running.is_right() || running.is_untouched(), "all of it or nothing");
    }
}

static void test_executors_that_go() {
    const aclrtStream stream = new_stream();
    for (int round = 0; round < 20; ++round) {
        Planned repeated;
        expect(aclSetAclOpExecutorRepeatable(repeated.executor) == 0, "make it repeatable");
        expect(repeated.launch(stream) == 0 && repeated.launch(stream) == 0, "queue it twice");
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        expect(aclDestroyAclOpExecutor(repeated.executor) == 0, "destroy it");
        repeated.prepared.objects.destroy_all();
        expect(repeated.launch(stream) != 0, "it is gone");
        expect(aclrtSynchronizeStream(stream) == 0 && repeated.is_right(), "its runs go on");
    }
    // One of several threads gets a single-use executor.
    for (int round = 0; round < 20; ++round) {
        Planned wanted;
        std::atomic<int> launched{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                aclrtSetDevice(0);
                launched += (t == 2 ? aclDestroyAclOpExecutor(wanted.executor) : wanted.launch(stream)) == 0;
                aclrtResetDevice(0);
            });
        }
        for (std::thread& thread : threads) thread.join();
        expect(launched == 1, "one launches or destroys it, got " + std::to_string(launched));
        expect(aclrtSynchronizeStream(stream) == 0, "wait");
        expect(wanted.is_right() || wanted.is_untouched(), "it was run once or not at all");
    }
    expect(aclrtDestroyStream(stream) == 0, "destroy the stream");
}

// The thread that asked is gone, with its messages and without a reset, when the result comes.
static void test_threads_that_go() {
    std::vector<std::unique_ptr<Planned>> calls;
    std::vector<aclrtStream> streams;
    for (int i = 0; i < 8; ++i) calls.push_back(std::make_unique<Planned>()), streams.push_back(nullptr);
    for (size_t i = 0; i < calls.size(); ++i) {
        std::thread([&, i] {
            aclrtSetDevice(0);
            aclrtCreateStream(&streams[i]);
            calls[i]->launch(streams[i]);
            aclrtDestroyStream(&streams[i]);  // no stream: a message that nobody asks for
        }).join();
    }
    expect(aclrtSynchronizeDevice() == 0, "wait for all: " + recent_message());
    for (auto& each : calls) expect(each->is_right(), "the call of a thread that ended");
    for (const aclrtStream stream : streams) expect(aclrtDestroyStream(stream) == 0, "destroy its stream");
    for (size_t i = 0; i < calls.size(); ++i) expect(aclrtResetDevice(0) == 0, "the resets that they left out");
}

static void test_reset_and_finalisation() {
    for (int round = 0; round < 5; ++round) {
        const aclrtStream stream = new_stream();
        Planned queued;
        expect(queued.launch(stream) == 0, "queue");
        expect(aclFinalize() == 0 && aclInit(nullptr) == 0, "finalise and initialise again");
        expect(aclrtSynchronizeStream(stream) == 0 && queued.is_right(), "calls go on");
        Planned another;
        expect(another.launch(stream) == 0, "queue another");
        expect(aclrtResetDeviceForce(0) == 0 && another.is_right(), "a reset waits for it");
        expect(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_CONTEXT_NULL, "the thread has no context");
        expect(aclrtSetDevice(0) == 0 && aclrtSynchronizeStream(stream) != 0, "the stream's context is gone");
        expect(aclrtDestroyStream(stream) == 0, "the stream is the program's to destroy");
    }
}

static void test_workspaces() {
    Planned null, odd;
    expect(null.size > 0, "a call that needs a workspace");
    expect(aclnnFusedInferAttentionScoreV5(nullptr, null.size, null.executor, nullptr) == 161001, "null");
    char* const address = reinterpret_cast<char*>(odd.workspace.data()) + 1;
    const aclnnStatus status = aclnnFusedInferAttentionScoreV5(address, odd.size, odd.executor, nullptr);
    const aclError waited = status == 0 ? aclrtSynchronizeStream(nullptr) : 0;
    if (status != 0 || waited != 0) {
        expect(recent_message().find("workspace: expected ") == 0, "an odd address is refused in words");
        expect(odd.is_untouched(), "nothing was written");
    } else {
        expect(odd.is_right(), "an odd address is as good as any");
    }
    Planned small;
    expect(aclnnFusedInferAttentionScoreV5(small.workspace.data(), small.size - 1, small.executor, nullptr) == 161002,
           "one byte too small");
    expect(recent_message().find("workspaceSize: expected ") == 0, "it is named");
}

// ThreadSanitizer does not follow a fork that is made with threads alive.
static void test_fork() {
#if !defined(__SANITIZE_THREAD__)
    const aclrtStream stream = new_stream();
    Planned queued, childs;
    expect(queued.launch(stream) == 0, "queue");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const bool runs = childs.launch(stream) == 0 && aclrtSynchronizeStream(stream) == 0 && childs.is_right();
        _exit(runs ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child computes on the stream that it has inherited");
    expect(aclrtSynchronizeStream(stream) == 0 && queued.is_right(), "the parent's call goes on");
    expect(aclDestroyAclOpExecutor(childs.executor) == 0 && aclrtDestroyStream(stream) == 0, "destroy");
#endif
}

int main() {
    if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0 || aclAttnSetNumThreads(3) != 0) return 2;
    result();
    test_streams_that_go();
    test_executors_that_go();
    test_threads_that_go();
    test_reset_and_finalisation();
    test_workspaces();
    test_fork();
    expect(live_objects() == 0, "live objects: " + std::to_string(live_objects()));
    static Planned* const last = new Planned;  // computing when the process ends
    expect(last->launch(nullptr) == 0, "queue the last call");
    return check_result();
}
