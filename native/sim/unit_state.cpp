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

void UnitState::execute_operation(Pipe which, Command& command) {
    PipeState& state = pipe(which);
    Operation& operation = command.operation;
    const bool checks = unit.checking();
    if (operation.unit_flag != 0 && !unit.plain_) join(which, (which == Pipe::m ? outlets : products).stamp);
    const uint32_t epoch = ++state.epoch;
    if (checks) {
        Clock clock = state.clock;
        // Only the vector unit of dav-2201 runs its own operations in any order.
        const bool unordered = which == Pipe::v && unit.arch() == Arch::dav2201;
        if (!unordered) clock.set(agent(which), epoch - 1);
        for (const Region& region : operation.regions) touch(operation, region, epoch, clock, which);
        if (which == Pipe::m) check_accumulation(operation);
        function_clock = std::move(clock);
    }
    if (operation.vector_function) {
        function = &operation;
        function_epoch = epoch;
        function_work = Work{};
        unit.vector_function_barrier();
    }
    const bool runs = !unit.dry() || operation.vector_function;
    if (runs) command.body();
    if (operation.vector_function) {
        function = nullptr;
        operation.work = function_work;
    }
    if (machine.options.counts) count(which, operation);
    if (operation.unit_flag == 3) {
        UnitFlag& own = which == Pipe::m ? products : outlets;
        own.done++;
        own.stamp = stamp(which);
    }
}

void UnitState::check_accumulation(const Operation& operation) {
    const Region* target = nullptr;
    bool accumulates = false;
    for (const Region& region : operation.regions) {
        if (region.space != Space::l0c) continue;
        if (region.write) target = &region;
        else accumulates = true;
    }
    if (target == nullptr) return;
    constexpr uint32_t kFractalOfL0c = 1024;
    constexpr uint32_t kHiddenFrom = 10;  // fractals, from which on the hardware keeps the order
    const bool overlaps = has_last_tile && last_tile.base < target->base + target->row_bytes &&
                          target->base < last_tile.base + last_tile.row_bytes;
    if (accumulates && overlaps && target->row_bytes / kFractalOfL0c < kHiddenFrom) {
        unit.fault(operation.name,
                   "expected PipeBarrier<PIPE_M>() between two products that accumulate into the same tile "
                   "of less than 10 fractals");
    }
    last_tile = *target;
    has_last_tile = true;
}

void UnitState::count(Pipe which, const Operation& operation) {
    PipeState& state = pipe(which);
    const Work& work = operation.work;
    const OperationCost cost = operation_cost(machine.chip, operation, machine.options.blocks, machine.lines);
    const uint64_t start = state.time;
    state.time = start + cost.busy;
    state.done = std::max(state.done, state.time + cost.latency);
    state.counts.operations++;
    state.counts.busy_cycles += cost.busy;
    counts.path_bytes[static_cast<int>(work.path)] += work.path == Path::none ? 0 : work.bytes;
    counts.path_bursts[static_cast<int>(work.path)] += work.bursts;
    counts.macs += work.macs;
    counts.cube_cycles += work.cube_cycles;
    counts.vector_repeats += work.repeats;
    for (const Region& region : operation.regions) {
        if (region.space == Space::gm) continue;
        const uint64_t rows = region.rows - 1, outer = region.outer - 1;
        unit.use_high_water(region.space, region.base + region.row_bytes +
                                              rows * static_cast<uint64_t>(region.row_step) +
                                              outer * static_cast<uint64_t>(region.outer_step));
    }
    if (machine.options.traced_core == static_cast<int32_t>(unit.core())) {
        machine.trace.push_back({operation.name, unit.core(), unit.role(), unit.sub_block(), which, start, state.time});
    }
}

void UnitState::touch(const Operation& operation, const Region& region, uint32_t epoch, const Clock& clock,
                      Pipe which) {
    const bool global = region.space == Space::gm;
    Access access{operation.name, epoch, agent(which), 0, 0, region.write};
    for (uint32_t outer = 0; outer < region.outer; outer++) {
        for (uint32_t row = 0; row < region.rows; row++) {
            const uint64_t address = region.base + outer * static_cast<uint64_t>(region.outer_step) +
                                     row * static_cast<uint64_t>(region.row_step);
            if (global) {
                machine.check_global(unit, operation.name, address, region.row_bytes, region.write);
                if (machine.is_constant(address)) continue;
                if (which != Pipe::s) machine.check_dirty(unit, operation.name, address, region.row_bytes);
            }
            if (!machine.options.races) continue;
            Shadow& shadow =
                global ? machine.global_shadow : machine.memory(unit, region.space, region.vector_core).shadow;
            const Access* earlier = shadow.touch(address, region.row_bytes, access, clock);
            if (earlier == nullptr) continue;
            const uint64_t shown = global ? address - machine.buffer_start(address) : address;
            unit.fault(operation.name,
                       std::string(region.write ? "write of " : "read of ") + space_name(region.space) + " bytes " +
                           std::to_string(shown) + " to " + std::to_string(shown + region.row_bytes) + " on pipe " +
                           pipe_name(which) + ": expected a flag or barrier behind " + earlier->name + " on " +
                           machine.agent_name(earlier->agent) + ", which " + (earlier->write ? "wrote" : "read") +
                           " there, got no order between the two");
        }
    }
}

}  // namespace acl_attn::sim
