// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The thread pool: several callers at once, slots, forked children; and the settings. The argument "no-fork" leaves out
// the fork, which qemu-user does not survive when threads exist.
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "engine/thread_pool.h"
#include "engine_problem.h"

using namespace engine_test;

namespace {

struct Count {
    std::atomic<int> next{0};
    std::atomic<int> done{0};
    std::atomic<unsigned> slots{0};
    std::atomic<bool> twice{false};
};

void take(void* context, int slot) {
    Count& count = *static_cast<Count*>(context);
    if (count.slots.fetch_or(1u << slot) & (1u << slot)) count.twice = true;
    while (count.next.fetch_add(1) < 1000) count.done.fetch_add(1);
}

void pool() {
    expect(worker_count() == 0, "no worker before the first need");
    Count single;
    run_on_threads(1, take, &single);
    expect(single.done == 1000 && worker_count() == 0, "one slot needs no worker");
    for (int repeat = 0; repeat < 2000; repeat++) {
        Count count;
        run_on_threads(4, take, &count);
        expect(count.done == 1000 && !count.twice && (count.slots & ~0xfu) == 0, "all done, each slot once");
    }
    expect(worker_count() == 3, "three workers for four slots");
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; c++) {
        callers.emplace_back([] {
            for (int repeat = 0; repeat < 500; repeat++) {
                Count count;
                run_on_threads(3, take, &count);
                expect(count.done == 1000 && !count.twice, "all done with several callers");
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
}

struct Gathering {
    int wanted;
    std::atomic<int> there{0};
};

void gather(void* context, int) {
    Gathering& all = *static_cast<Gathering*>(context);
    all.there++;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (all.there < all.wanted && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
}

double processor_seconds() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

void sleep_and_wake() {
    const std::chrono::milliseconds long_enough{50};  // for all workers to fall asleep
    for (const int slots : {2, 4, 8}) {
        for (int repeat = 0; repeat < 3; repeat++) {
            Gathering all{slots};
            run_on_threads(slots, gather, &all);
            expect(all.there == slots, "all slots' threads come, those that sleep are woken");
            std::this_thread::sleep_for(long_enough);
        }
    }
    const double before = processor_seconds();
    std::this_thread::sleep_for(2 * long_enough);
    expect(processor_seconds() - before < 0.01, "threads without work sleep");
    Count count;
    run_on_threads(4, take, &count, false);
    expect(count.done == 1000 && !count.twice, "what wakes nobody is done");
}

void concurrent_runs() {
    Spec spec;
    spec.heads = 4;
    spec.kv_heads = 2;
    spec.sequences = Sequences{{1, 1500}, {70, 200}, {2, 30}};
    const std::vector<Logical> data = make_logical(spec, 31);
    set_thread_count(3);
    const Result want = run(spec, data);
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; c++) {
        callers.emplace_back([&] {
            for (int repeat = 0; repeat < 20; repeat++) expect(run(spec, data) == want, "concurrent runs agree");
        });
    }
    for (std::thread& caller : callers) caller.join();
    // One plan, several workspaces at once.
    Laid first(spec, data), second(spec, data);
    const auto plan = Attention::plan(first.problem);
    std::vector<char> memory1(plan->workspace_bytes()), memory2(plan->workspace_bytes());
    std::thread other([&] { plan->run(first.operands, memory1.data()); });
    plan->run(second.operands, memory2.data());
    other.join();
    expect(first.collect(spec) == want && second.collect(spec) == want, "one plan runs twice at once");
    set_thread_count(0);
}

// ThreadSanitizer does not follow a fork that is made with threads alive.
#if !defined(__SANITIZE_THREAD__)
void forked_child() {
    Count before;
    run_on_threads(3, take, &before);
    const pid_t child = fork();
    if (child == 0) {
        if (worker_count() != 0) _exit(1);
        Count count;
        run_on_threads(3, take, &count);
        _exit(count.done == 1000 && worker_count() == 2 ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child has workers of its own");
    Count after;
    run_on_threads(3, take, &after);
    expect(after.done == 1000, "the parent keeps its workers");
}
#endif

void settings() {
    expect(thread_count() >= 1, "at least one thread");
    expect(!set_thread_count(-1) && !set_thread_count(1025), "absurd thread counts are refused");
    expect(set_thread_count(7) && thread_count() == 7 && set_thread_count(0), "a thread count is kept");
    expect(target_name(-1) == nullptr && target_name(target_count()) == nullptr, "no name out of range");
    expect(!force_target(target_count()) && !force_target(-2), "no target out of range");
    expect(target_usable(0) && std::string(target_name(0)) == "portable", "portable is always usable");
}

}  // namespace

int main(int argc, char** argv) {
    pool();
    sleep_and_wake();
    concurrent_runs();
#if !defined(__SANITIZE_THREAD__)
    if (argc < 2 || std::strcmp(argv[1], "no-fork") != 0) forked_child();
#else
    (void)argc, (void)argv;
#endif
    settings();
    return finish("engine_threads");
}
