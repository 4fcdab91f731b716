// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace acl_attn::engine {
namespace {

using Clock = std::chrono::steady_clock;

// To sleep and to be woken costs both sides 20 to 50 microseconds in a virtual machine. So a thread without work looks
// for some for so long, and longer while a call is under way, whose caller soon returns and may call again.
constexpr std::chrono::microseconds kIdleSearch{50}, kBusySearch{1000};
constexpr int kWoken = 2;  // sleepers that one thread wakes; they wake others, because a caller would be long at it

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Looks until is_over(), or until has_time(how long it has looked) says no. After a while others may have the
// processor, if there are more threads than processors.
template <class IsOver, class HasTime>
void search(IsOver is_over, HasTime has_time) {
    constexpr int kLooks = 16;  // between two looks at the clock
    const Clock::time_point begin = Clock::now();
    for (;;) {
        for (int i = 0; i < kLooks; i++) {
            if (is_over()) return;
            pause_processor();
        }
        const Clock::duration spent = Clock::now() - begin;
        if (!has_time(spent)) return;
        if (spent > kIdleSearch) std::this_thread::yield();
    }
}

// One call of run_on_threads, on the caller's stack.
struct Job {
    void (*body)(void*, int);
    void* context;
    int slots;
    int next_slot = 1;             // guarded by Pool::mutex_
    std::atomic<int> running{0};   // workers inside body
    Job* next = nullptr;
};

class Pool {
public:
    // Ends the workers. The pool stays usable, by the calling threads alone.
    void stop() {
        std::vector<std::thread> ending;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopping_ = true;
            version_.fetch_add(1, std::memory_order_release);
            ending.swap(workers_);
        }
        work_.notify_all();
        for (std::thread& worker : ending) worker.join();
    }

    void run(Job& job, bool is_worth_waking) noexcept {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            start_workers(job.slots - 1);
            job.next = jobs_;
            jobs_ = &job;
            calls_.fetch_add(1, std::memory_order_relaxed);
            version_.fetch_add(1, std::memory_order_release);
        }
        if (is_worth_waking || Clock::now() - last_end_.load(std::memory_order_relaxed) < kIdleSearch) {
            wake(job.slots - 1);
        }
        job.body(job.context, 0);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            for (Job** link = &jobs_; *link != nullptr; link = &(*link)->next) {
                if (*link == &job) {
                    *link = job.next;
                    break;
                }
            }
        }
        wait_for(job);
        last_end_.store(Clock::now(), std::memory_order_relaxed);
        calls_.fetch_sub(1, std::memory_order_relaxed);
    }

    int size() {
        std::lock_guard<std::mutex> lock(mutex_);
        return static_cast<int>(workers_.size());
    }

private:
    void start_workers(int count) noexcept {
        try {
            while (static_cast<int>(workers_.size()) < count && !stopping_) {
                workers_.emplace_back([this] { work(); });
            }
        } catch (...) {
            // Fewer threads than asked for: the callers do more themselves.
        }
    }

    void wait_for(Job& job) {
        const auto is_done = [&] { return job.running.load(std::memory_order_acquire) == 0; };
        search(is_done, [](Clock::duration spent) { return spent < kBusySearch; });
        if (is_done()) return;
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, is_done);
    }

    // As many sleepers as could help, or those who wake them.
    void wake(int helpers) {
        if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
        for (int i = 0; i < std::min(helpers, kWoken); i++) work_.notify_one();
    }

    Job* take(int* slot) {
        for (Job* job = jobs_; job != nullptr; job = job->next) {
            if (job->next_slot < job->slots) {
                *slot = job->next_slot++;
                return job;
            }
        }
        return nullptr;
    }

    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopping_) {
            int slot = 0;
            if (Job* job = take(&slot)) {
                job->running.fetch_add(1, std::memory_order_relaxed);
                const int missing = job->slots - job->next_slot;
                lock.unlock();
                wake(missing);
                job->body(job->context, slot);
                lock.lock();
                // Under the lock: the caller may be between its check and its wait, and the job ends with the caller.
                if (job->running.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_all();
                continue;
            }
            const unsigned seen = version_.load(std::memory_order_acquire);
            lock.unlock();
            look_for_work(seen);
            lock.lock();
            if (version_.load(std::memory_order_acquire) != seen) continue;
            sleeping_.fetch_add(1, std::memory_order_seq_cst);
            work_.wait(lock, [&] { return version_.load(std::memory_order_acquire) != seen; });
            sleeping_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }

    void look_for_work(unsigned seen) {
        Clock::duration last_call{};
        search([&] { return version_.load(std::memory_order_acquire) != seen; },
               [&](Clock::duration spent) {
                   if (calls_.load(std::memory_order_relaxed) > 0) last_call = spent;
                   return spent < last_call + kIdleSearch && spent < kBusySearch;
               });
    }

    std::mutex mutex_;
    std::condition_variable work_, done_;
    std::atomic<unsigned> version_{0};  // grows with every job, so that spinning needs no lock
    std::atomic<int> sleeping_{0};
    std::atomic<int> calls_{0};  // of run() that have not returned
    std::atomic<Clock::time_point> last_end_{Clock::time_point{}};  // of a call
    Job* jobs_ = nullptr;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
};

std::mutex g_mutex;  // guards the creation of the pool
std::atomic<Pool*> g_pool{nullptr};

void before_fork() { g_mutex.lock(); }
void after_fork_parent() { g_mutex.unlock(); }
void after_fork_child() {
    // The workers exist in the parent only, and the old pool's lock may be held by one of them: it is left alone.
    g_pool.store(nullptr, std::memory_order_relaxed);
    g_mutex.unlock();
}

// Joins the workers before static objects that they may use are gone. The pool itself is never freed: other threads may
// still be computing while the process ends.
struct EndOfProcess {
    ~EndOfProcess() {
        if (Pool* pool = g_pool.load(std::memory_order_acquire)) pool->stop();
    }
};

Pool* pool() noexcept {
    if (Pool* ready = g_pool.load(std::memory_order_acquire)) return ready;
    std::lock_guard<std::mutex> lock(g_mutex);
    if (g_pool.load(std::memory_order_relaxed) == nullptr) {
        static const int fork_handlers = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
        static EndOfProcess end_of_process;
        if (fork_handlers != 0) return nullptr;
        g_pool.store(new (std::nothrow) Pool, std::memory_order_release);
    }
    return g_pool.load(std::memory_order_relaxed);
}

}  // namespace

void run_on_threads(int slots, void (*body)(void* context, int slot), void* context, bool is_worth_waking) noexcept {
    Pool* workers = slots > 1 ? pool() : nullptr;
    if (workers == nullptr) return body(context, 0);
    Job job{body, context, slots};
    workers->run(job, is_worth_waking);
}

int worker_count() noexcept {
    Pool* workers = g_pool.load(std::memory_order_acquire);
    return workers == nullptr ? 0 : workers->size();
}

}  // namespace acl_attn::engine
