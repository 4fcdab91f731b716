// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads and clocks around the loops of kernels.h.
#include "bench/bench.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <thread>
#include <vector>

#include "bench/kernels.h"

namespace {

using acl_attn::bench::Unit;

const Unit* unit_at(int index) {
    const Unit* unit = acl_attn::bench::units();
    for (; unit->name != nullptr && index > 0; unit++) index--;
    return index == 0 && unit->name != nullptr ? unit : nullptr;
}

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Calls block(thread) on all threads at once until the time is over, at least once; what they did a second, added up.
// The threads stop together, so that none is measured while another has already left it the memory bus.
template <class Block>
double rate_on_threads(int threads, double seconds, Block block) noexcept {
    std::atomic<int> waiting{threads};
    std::atomic<bool> is_over{false};
    std::vector<double> rates(static_cast<size_t>(threads));
    const auto body = [&](int thread) {
        block(thread);  // warm
        waiting.fetch_sub(1);
        while (waiting.load() > 0) std::this_thread::yield();
        const double end = wall_seconds() + seconds, start = thread_seconds();
        double done = 0;
        do {
            done += block(thread);
        } while (!is_over.load(std::memory_order_relaxed) && wall_seconds() < end);
        is_over.store(true, std::memory_order_relaxed);
        rates[static_cast<size_t>(thread)] = done / (thread_seconds() - start);
    };
    std::vector<std::thread> others;
    try {
        for (int i = 1; i < threads; i++) others.emplace_back(body, i);
    } catch (const std::exception&) {  // no more threads to be had: let those that wait go
        waiting.store(0);
        for (std::thread& thread : others) thread.join();
        return 0;
    }
    body(0);
    double sum = 0;
    for (std::thread& thread : others) thread.join();
    for (const double rate : rates) sum += rate;
    return sum;
}

}  // namespace

extern "C" const char* aclAttnBenchUnitName(int unit) {
    const Unit* found = unit_at(unit);
    return found == nullptr ? nullptr : found->name;
}

extern "C" int aclAttnBenchIsUnitUsable(int unit) {
    const Unit* found = unit_at(unit);
    return found != nullptr && found->usable() ? 1 : 0;
}

extern "C" double aclAttnBenchOperations(int unit, int threads, double seconds) {
    const Unit* found = unit_at(unit);
    if (found == nullptr || !found->usable() || threads < 1 || threads > 1024) return 0;
    return rate_on_threads(threads, seconds, [&](int) { return found->block(); });
}

extern "C" double aclAttnBenchRead(const void* data, size_t bytes, int threads, double seconds) {
    if (data == nullptr || threads < 1 || threads > 1024) return 0;
    const size_t part = bytes / static_cast<size_t>(threads) / 512 * 512;
    if (part < 4096) return 0;
    int count = 0;
    while (acl_attn::bench::readers()[count] != nullptr) count++;
    double best = 0;
    for (int i = 0; i < count; i++) {
        const double rate = rate_on_threads(threads, seconds / count, [&](int thread) {
            acl_attn::bench::readers()[i](static_cast<const char*>(data) + part * static_cast<size_t>(thread), part);
            return static_cast<double>(part);
        });
        best = std::max(best, rate);
    }
    return best;
}
