// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One operation on its pipe: the checks before it, the operation, the counts after it.
#include "sim/machine.h"

namespace acl_attn::sim {

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
