// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What a unit is doing: the queues of its pipes, its flags, and where its program stands.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/channel.h"
#include "sim/counters.h"
#include "sim/fiber.h"

namespace acl_attn::sim {

struct Cancelled {};  // unwinds a program when another one has failed

constexpr int kEventKinds = 40;
constexpr int kEventIds = 8;

struct Command {
    enum class Kind : uint8_t { operation, set_flag, wait_flag, barrier, cross_set, cross_wait };
    Kind kind = Kind::operation;
    Operation operation;
    std::function<void()> body;
    Stamp issue;  // of the scalar unit when it put the command into the queue
    int event = 0;
    int id = 0;
    Pipe target = Pipe::s;
    int mode = 0;
    const char* name = "";
    uint32_t needed = 0;  // with a unit flag: products (or outlets) that come before it in the program

    std::string describe() const;
};

struct Flag {
    bool set = false;
    Stamp stamp;
    uint32_t waiter = 0;  // agent and epoch of the last wait
    uint32_t waiter_epoch = 0;
    bool waited = false;
    const char* name = "";
};

struct PipeState {
    std::deque<Command> queue;
    Clock clock;
    uint32_t epoch = 0;
    uint64_t time = 0;  // when the next operation can start
    uint64_t done = 0;  // when the last one has ended
    PipeCounts counts;
};

struct UnitState {
    UnitState(Machine& machine, Unit& unit, uint32_t index);

    Machine& machine;
    Unit& unit;
    uint32_t index;  // among the units of the launch
    PipeState pipes[kPipes];
    Flag flags[kEventKinds][kEventIds];
    UnitCounts counts;
    std::unique_ptr<Fiber> fiber;
    std::string waiting_for;  // of the program, empty if it is not waiting
    bool initialised = false;
    bool drained = true;  // no operation since the last barrier over all pipes
    struct UnitFlag {     // of Mmad with unit flag 3, and of Fixpipe
        uint32_t issued = 0;
        uint32_t done = 0;
        Stamp stamp;
    } products, outlets;
    Region last_tile;  // of the last Mmad since a barrier on M
    bool has_last_tile = false;

    // The vector function that runs now.
    const Operation* function = nullptr;
    uint32_t function_epoch = 0;
    Clock function_clock;
    Work function_work;
    std::vector<uint64_t> function_stores;  // bit per 32 bytes of UB

    // Scalar stores to GM that no cache clean has written back: begin and end.
    std::vector<std::pair<uint64_t, uint64_t>> dirty;

    uint32_t agent(Pipe pipe) const { return index * kPipes + static_cast<uint32_t>(pipe); }
    PipeState& pipe(Pipe which) { return pipes[static_cast<int>(which)]; }
    PipeState& scalar() { return pipes[0]; }

    void enqueue(Pipe pipe, Command command);
    void spend(uint64_t cycles);     // of the scalar unit
    bool runnable(Pipe pipe) const;  // the first command of the queue can run now
    void run_first(Pipe pipe);
    bool pump();        // runs what can run in order; whether anything did
    bool run_random();  // runs one command of a random pipe
    bool idle() const;  // all queues are empty
    void execute(Pipe pipe, Command& command);
    void execute_operation(Pipe pipe, Command& command);
    void check_accumulation(const Operation& operation);
    void count(Pipe pipe, const Operation& operation);
    void set(Pipe pipe, const Command& command);
    void take(Pipe pipe, int event, int id);
    void produce(Pipe pipe, int mode, int id);
    void consume(Pipe pipe, int mode, int id);
    bool cross_ready(int mode, int id);
    void check_cross(const char* name, int mode, int id) const;

    Stamp stamp(Pipe pipe);  // everything that the pipe has been given so far
    void join(Pipe pipe, const Stamp& stamp);
    void pause();  // lets other units run; throws Cancelled if the launch has ended meanwhile
    // Blocks the program until `ready`.
    void wait_until(const std::string& what, const std::function<bool()>& ready);
    void touch(const Operation& operation, const Region& region, uint32_t epoch, const Clock& clock, Pipe pipe);
    void check_end();
    std::string report() const;
};

}  // namespace acl_attn::sim
