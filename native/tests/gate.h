// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Tasks that tests put on streams: one that holds a stream until it is told to go on, one that fails, one that notes
// its turn.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "acl/acl.h"

class Gate {
public:
    // As an aclrtHostFunc with a Gate as argument.
    static void hold(void* gate) { static_cast<Gate*>(gate)->pass(); }
    void open() {
        std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    // Until a task has arrived at the gate.
    void wait_for_arrival() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return arrived_; });
    }

private:
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    bool arrived_ = false;
};

inline void throw_error(void*) { throw std::runtime_error("a task that fails"); }

struct Log {
    std::mutex mutex;
    std::vector<int> entries;
};
struct Entry {
    Log* log;
    int number;
    static void note(void* entry) {
        Entry* self = static_cast<Entry*>(entry);
        std::lock_guard<std::mutex> lock(self->log->mutex);
        self->log->entries.push_back(self->number);
    }
};
