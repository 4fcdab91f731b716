// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/unit_state.h"

#include "sim/machine.h"

namespace acl_attn::sim {

UnitState::UnitState(Machine& owner, Unit& owner_unit, uint32_t own_index)
    : machine(owner), unit(owner_unit), index(own_index) {
    counts.core = unit.core();
    counts.role = unit.role();
    counts.sub_block = unit.sub_block();
    if (!machine.options.checks) return;
    for (PipeState& state : pipes) state.clock = Clock(machine.agent_count());
    function_stores.resize(space_bytes(unit.arch(), Space::ub) / 32 / 64 + 1);
}

Stamp UnitState::stamp(Pipe which) {
    PipeState& state = pipe(which);
    Stamp result;
    result.time = std::max(state.done, state.time);
    if (!unit.checking()) return result;
    result.clock = state.clock;
    result.clock.set(agent(which), state.epoch);
    return result;
}

void UnitState::join(Pipe which, const Stamp& seen) {
    PipeState& state = pipe(which);
    if (unit.checking()) state.clock.join(seen.clock);
    state.time = std::max(state.time, seen.time);
}

bool UnitState::idle() const {
    for (const PipeState& state : pipes) {
        if (!state.queue.empty()) return false;
    }
    return true;
}

void UnitState::enqueue(Pipe which, Command command) {
    PipeState& state = pipe(which);
    if (!unit.plain_) {
        PipeState& issuer = scalar();
        if (unit.checking()) command.issue.clock = issuer.clock;
        command.issue.time = issuer.time;
        if (which != Pipe::s) spend(machine.chip.issue_cycles);
    }
    if (which == Pipe::s) return execute(which, command);
    state.queue.push_back(std::move(command));
    unit.waiting_[static_cast<int>(which)]++;
    if (machine.options.seed == 0) {
        pump();
        return;
    }
    // A random order: sometimes let something run, sometimes let another core go first.
    if (machine.random() % 2 == 0) run_random();
    if (machine.random() % 16 == 0) {
        machine.progress++;
        pause();
    }
}

void UnitState::spend(uint64_t cycles) {
    PipeState& state = scalar();
    state.time += cycles;
    state.counts.operations++;
    state.counts.busy_cycles += cycles;
}

void UnitState::pause() {
    fiber->yield();
    if (machine.stopped) throw Cancelled{};
}

void UnitState::wait_until(const std::string& what, const std::function<bool()>& ready) {
    while (!ready()) {
        if (machine.stopped) throw Cancelled{};
        if (machine.options.seed == 0 ? pump() : run_random()) continue;
        waiting_for = what;
        pause();
    }
    if (!waiting_for.empty()) machine.progress++;
    waiting_for.clear();
}

bool UnitState::runnable(Pipe which) const {
    const std::deque<Command>& queue = pipes[static_cast<int>(which)].queue;
    if (queue.empty()) return false;
    const Command& first = queue.front();
    switch (first.kind) {
        case Command::Kind::wait_flag: return flags[first.event][first.id].set;
        case Command::Kind::cross_wait: return const_cast<UnitState*>(this)->cross_ready(first.mode, first.id);
        case Command::Kind::operation:
            if (first.operation.unit_flag == 0) return true;
            return (which == Pipe::m ? outlets : products).done >= first.needed;
        default: return true;
    }
}

void UnitState::run_first(Pipe which) {
    PipeState& state = pipe(which);
    Command command = std::move(state.queue.front());
    state.queue.pop_front();
    unit.waiting_[static_cast<int>(which)]--;
    machine.progress++;
    execute(which, command);
}

bool UnitState::pump() {
    bool any = false;
    for (bool moved = true; moved;) {
        moved = false;
        for (int which = 1; which < kPipes; which++) {
            while (runnable(static_cast<Pipe>(which))) {
                run_first(static_cast<Pipe>(which));
                moved = any = true;
            }
        }
    }
    return any;
}

bool UnitState::run_random() {
    int candidates[kPipes];
    int count = 0;
    for (int which = 1; which < kPipes; which++) {
        if (runnable(static_cast<Pipe>(which))) candidates[count++] = which;
    }
    if (count == 0) return false;
    run_first(static_cast<Pipe>(candidates[machine.random() % static_cast<uint64_t>(count)]));
    return true;
}

void UnitState::execute(Pipe which, Command& command) {
    PipeState& state = pipe(which);
    if (!unit.plain_) {
        if (unit.checking()) state.clock.join(command.issue.clock);
        state.time = std::max(state.time, command.issue.time);
    }
    switch (command.kind) {
        case Command::Kind::operation: return execute_operation(which, command);
        case Command::Kind::set_flag: return set(which, command);
        case Command::Kind::wait_flag: return take(which, command.event, command.id);
        case Command::Kind::cross_set: return produce(which, command.mode, command.id);
        case Command::Kind::cross_wait: return consume(which, command.mode, command.id);
        case Command::Kind::barrier:
            if (which == Pipe::m) has_last_tile = false;
            if (unit.checking()) state.clock.set(agent(which), state.epoch);
            state.time = std::max(state.time, state.done);
            return;
    }
}

void UnitState::set(Pipe which, const Command& command) {
    Flag& flag = flags[command.event][command.id];
    PipeState& state = pipe(which);
    state.counts.sets++;
    if (unit.checking()) {
        const std::string label = std::string(command.name) + " flag " + std::to_string(command.id);
        if (flag.set) unit.fault("SetFlag", label + ": expected a wait since it was set, got a second set");
        if (machine.options.races && flag.waited && !state.clock.knows(flag.waiter, flag.waiter_epoch)) {
            unit.fault("SetFlag", label +
                                      ": expected the last wait for it to come before this set by another flag or a "
                                      "barrier, got no order between them; the set may come first and be lost");
        }
        state.epoch++;
    }
    flag.set = true;
    flag.name = command.name;
    flag.stamp = stamp(which);
    machine.progress++;
}

void UnitState::take(Pipe which, int event, int id) {
    Flag& flag = flags[event][id];
    PipeState& state = pipe(which);
    flag.set = false;
    state.counts.waits++;
    join(which, flag.stamp);
    if (!unit.checking()) return;
    flag.waiter = agent(which);
    flag.waiter_epoch = ++state.epoch;
    flag.waited = true;
}

}  // namespace acl_attn::sim
