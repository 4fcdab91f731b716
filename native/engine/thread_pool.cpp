// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace acl_attn::engine {
namespace {

// 15 to 40 microseconds, by the processor, of looking for work before a thread sleeps: about what a wake-up by the
// operating system costs in a virtual machine. Items may be as long, so that a thread which ended first would sleep
// between two short calls.
constexpr int kSpins = 1000;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
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

    void run(Job& job) noexcept {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            start_workers(job.slots - 1);
            job.next = jobs_;
            jobs_ = &job;
            version_.fetch_add(1, std::memory_order_release);
        }
        wake(job.slots - 1);
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
        for (int i = 0; i < kSpins && job.running.load(std::memory_order_acquire) != 0; i++) pause_processor();
        if (job.running.load(std::memory_order_acquire) == 0) return;
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return job.running.load(std::memory_order_acquire) == 0; });
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

    void wake(int count) {
        if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
        if (count == 1) {
            work_.notify_one();
        } else {
            work_.notify_all();
        }
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
                lock.unlock();
                job->body(job->context, slot);
                lock.lock();
                // Under the lock: the caller may be between its check and its wait, and the job ends with the caller.
                if (job->running.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_all();
                continue;
            }
            const unsigned seen = version_.load(std::memory_order_acquire);
            lock.unlock();
            for (int i = 0; i < kSpins && version_.load(std::memory_order_acquire) == seen; i++) pause_processor();
            lock.lock();
            if (version_.load(std::memory_order_acquire) != seen) continue;
            sleeping_.fetch_add(1, std::memory_order_seq_cst);
            work_.wait(lock, [&] { return version_.load(std::memory_order_acquire) != seen; });
            sleeping_.fetch_sub(1, std::memory_order_seq_cst);
        }
    }

    std::mutex mutex_;
    std::condition_variable work_, done_;
    std::atomic<unsigned> version_{0};  // grows with every job, so that spinning needs no lock
    std::atomic<int> sleeping_{0};
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

void run_on_threads(int slots, void (*body)(void* context, int slot), void* context) noexcept {
    Pool* workers = slots > 1 ? pool() : nullptr;
    if (workers == nullptr) return body(context, 0);
    Job job{body, context, slots};
    workers->run(job);
}

int worker_count() noexcept {
    Pool* workers = g_pool.load(std::memory_order_acquire);
    return workers == nullptr ? 0 : workers->size();
}

}  // namespace acl_attn::engine
