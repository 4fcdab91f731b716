// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How many threads a run may use.
#include "engine/threads.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

#include "engine/attention.h"

namespace acl_attn::engine {
namespace {

constexpr int kMaxThreads = 1024;

std::atomic<int> g_forced{0};

// Processors in the process's affinity mask: in a container that is often fewer than the machine has.
int available_processors() {
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) return count;
    }
#endif
    const unsigned count = std::thread::hardware_concurrency();
    return count > 0 ? static_cast<int>(count) : 1;
}

struct Default {
    int count = 1;
    std::string problem;
};

// The environment is read once: a later change by another thread would race with the read.
const Default& default_count() {
    static const Default found = [] {
        Default result;
        result.count = available_processors() < kMaxThreads ? available_processors() : kMaxThreads;
        const char* wish = std::getenv("ACL_ATTN_NUM_THREADS");
        if (wish == nullptr || *wish == '\0') return result;
        char* end = nullptr;
        errno = 0;
        const long count = std::strtol(wish, &end, 10);
        if (errno == 0 && end != wish && *end == '\0' && count >= 1 && count <= kMaxThreads) {
            result.count = static_cast<int>(count);
        } else {
            result.problem = "ACL_ATTN_NUM_THREADS: expected a number from 1 to " + std::to_string(kMaxThreads) +
                             ", got " + wish + "; unset it to use " + std::to_string(result.count);
        }
        return result;
    }();
    return found;
}

}  // namespace

int thread_count() {
    const int forced = g_forced.load(std::memory_order_relaxed);
    return forced > 0 ? forced : default_count().count;
}

bool set_thread_count(int count) {
    if (count < 0 || count > kMaxThreads) return false;
    g_forced.store(count, std::memory_order_relaxed);
    return true;
}

const char* thread_environment_problem() {
    const bool decides = g_forced.load(std::memory_order_relaxed) <= 0;
    return decides && !default_count().problem.empty() ? default_count().problem.c_str() : nullptr;
}

}  // namespace acl_attn::engine
