// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the engine's benchmarks share: clocks, large arrays, and the machine's two limits, measured beside each case
// because machines are shared.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/bench.h"
#include "engine/attention.h"

namespace engine_bench {

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Takes the number of threads and the instruction set from the command line; false if this machine lacks the latter.
inline bool configure(int argc, char** argv) {
    using namespace acl_attn::engine;
    if (argc > 1) set_thread_count(std::atoi(argv[1]));
    if (argc > 2) {
        for (int i = 0; i < target_count(); i++) {
            if (std::strcmp(target_name(i), argv[2]) == 0 && !force_target(i)) return false;
        }
    }
    return true;
}

// For one thread its own time, which other processes disturb less.
inline double now_on(int threads) {
#ifdef __linux__
    if (threads == 1) {
        timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    }
#endif
    return now();
}

// Large arrays on huge pages where the system grants them, as NumPy's are.
template <class T>
struct HugePages {
    using value_type = T;
    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}
    T* allocate(size_t n) {
        constexpr size_t page = size_t{1} << 21;
        const size_t bytes = (n * sizeof(T) + page - 1) / page * page;
        void* p = std::aligned_alloc(page, bytes);
        if (p == nullptr) std::abort();
#ifdef __linux__
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(p);
    }
    void deallocate(T* p, size_t) { std::free(p); }
    bool operator==(const HugePages&) const { return true; }
    bool operator!=(const HugePages&) const { return false; }
};
template <class T>
using Large = std::vector<T, HugePages<T>>;

inline double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
}

// Calls body on so many threads at once; the seconds that takes.
template <class Body>
double seconds_on_threads(int threads, Body body) {
    const double start = now_on(threads);
    std::vector<std::thread> others;
    for (int i = 1; i < threads; i++) others.emplace_back(body, i);
    body(0);
    for (std::thread& thread : others) thread.join();
    return now_on(threads) - start;
}

#if defined(__x86_64__)
constexpr double kMultiplyAddsOfCall = 100000.0 * 16 * 8;
// So many multiply-adds. The sums begin differently, or the compiler would make one of them.
__attribute__((target("avx2,fma"), noinline)) inline void multiply_avx2() {
    const __m256 x = _mm256_set1_ps(0.01f);
    __m256 sums[16];
    for (int c = 0; c < 16; c++) sums[c] = _mm256_set1_ps(static_cast<float>(c));
    for (int i = 0; i < 100000; i++) {
        _Pragma("GCC unroll 16") for (int c = 0; c < 16; c++) sums[c] = _mm256_fmadd_ps(sums[c], x, x);
    }
    volatile float used = 0;
    for (int c = 0; c < 16; c++) used = used + sums[c][0];
}
#endif

// Multiply-adds a second, of the instruction that the target in use multiplies bf16 with. 0: not known here.
inline double multiply_rate(int threads) {
    const std::string target = acl_attn::engine::target_name(acl_attn::engine::target_in_use());
    const std::string wanted = target == "amx"                                     ? "bf16_amx"
                               : target == "avx512_bf16"                           ? "bf16_dot"
                               : target == "avx512" || target == "avx512_vnni"     ? "fp32_fma"
                                                                                   : "";
    for (int unit = 0; aclAttnBenchUnitName(unit) != nullptr; unit++) {
        if (wanted == aclAttnBenchUnitName(unit)) return aclAttnBenchOperations(unit, threads, 0.1) / 2;
    }
#if defined(__x86_64__)
    // The benchmark's library has only the widest unit of a kind, which on processors with AVX-512 is not this one.
    if (target == "avx2") {
        constexpr int kCalls = 20;
        const double seconds = seconds_on_threads(threads, [](int) {
            for (int i = 0; i < kCalls; i++) multiply_avx2();
        });
        return kCalls * kMultiplyAddsOfCall * threads / seconds;
    }
#endif
    return 0;
}

// Bytes a second of reading these again and again; 0 if there are too few for so many threads.
inline double read_rate(int threads, const void* data, size_t bytes) {
    constexpr double kSeconds = 0.03;
    return aclAttnBenchRead(data, bytes, threads, kSeconds);
}

}  // namespace engine_bench
