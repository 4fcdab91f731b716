// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/unit.h"

#include "sim/machine.h"

namespace acl_attn::sim {

namespace {

thread_local Unit* running = nullptr;

void check_event(const Unit& unit, const char* api, int id, const char* name) {
    if (id >= 0 && id < kEventIds) return;
    unit.fault(api, std::string(name) + ": eventID: expected 0 to 7, got " + std::to_string(id));
}

Command flag_command(Command::Kind kind, Pipe target, int event, int id, const char* name) {
    Command command;
    command.kind = kind;
    command.event = event;
    command.id = id;
    command.target = target;
    command.name = name;
    return command;
}

}  // namespace

void set_running(Unit* unit) { running = unit; }

Unit& Unit::current() {
    if (running == nullptr) throw Fault{"kernel API: expected to be called by a kernel inside of sim::launch"};
    return *running;
}

Unit::Unit(Machine& machine, uint32_t core, Role role, uint32_t sub_block)
    : machine_(machine),
      arch_(machine.options.arch),
      role_(role),
      core_(core),
      sub_block_(sub_block),
      plain_(!machine.options.checks && !machine.options.counts),
      checking_(machine.options.checks),
      dry_(machine.options.dry) {
    const uint32_t index = core * (1 + kVectorCores) + (role == Role::cube ? 0 : 1 + sub_block);
    state_ = std::make_unique<UnitState>(machine, *this, index);
}

Unit::~Unit() = default;

uint32_t Unit::blocks() const { return machine_.options.blocks; }

uint8_t* Unit::memory(Space space, int vector_core) const {
    return machine_.memory(*this, space, vector_core).bytes.get();
}

void Unit::fault(const char* name, const std::string& text) const {
    throw Fault{std::string(name) + ": " + text + " (" + machine_.unit_name(*this) + ")"};
}

void Unit::submit(Operation operation, std::function<void()> body) {
    if (checking_ && !state_->initialised) fault(operation.name, "expected InitSocState() before the first operation");
    Command command;
    command.name = operation.name;
    command.operation = std::move(operation);
    command.body = std::move(body);
    const Pipe pipe = command.operation.pipe;
    UnitState::UnitFlag& own = pipe == Pipe::m ? state_->products : state_->outlets;
    UnitState::UnitFlag& other = pipe == Pipe::m ? state_->outlets : state_->products;
    if (command.operation.unit_flag != 0) {
        command.needed = other.issued;
        if (command.operation.unit_flag == 3) own.issued++;
    }
    state_->drained = false;
    state_->enqueue(pipe, std::move(command));
}

void Unit::scalar_access(const char* name, const Region& region) {
    UnitState& state = *state_;
    if (region.space != Space::gm && region.space != Space::ub) {
        fault(name, "expected a tensor in UB or GM, which the scalar unit can reach");
    }
    if (region.space == Space::ub && role_ != Role::vector)
        fault(name, "expected to run on a vector core, whose UB it is");
    PipeState& scalar = state.scalar();
    if (machine_.options.counts) {
        // What the scalar cache does not have yet is waited for.
        const bool fetched = region.space == Space::gm && machine_.lines.first_touch(region) != 0;
        state.spend(machine_.chip.issue_cycles + (fetched ? machine_.chip.copy_latency : 0));
    }
    if (!checking_) return;
    const uint32_t epoch = ++scalar.epoch;
    Stamp now = state.stamp(Pipe::s);
    Operation operation;
    operation.name = name;
    state.touch(operation, region, epoch, now.clock, Pipe::s);
    if (region.space == Space::gm && region.write) state.dirty.push_back({region.base, region.base + region.row_bytes});
}

void Unit::cache_clean(const char*) { state_->dirty.clear(); }

void Unit::set_flag(Pipe source, Pipe target, int kind, int id, const char* name) {
    check_event(*this, "SetFlag", id, name);
    state_->enqueue(source, flag_command(Command::Kind::set_flag, target, kind, id, name));
}

void Unit::wait_flag(Pipe, Pipe target, int kind, int id, const char* name) {
    check_event(*this, "WaitFlag", id, name);
    if (target == Pipe::s) {
        state_->wait_until(std::string("WaitFlag<") + name + ">(" + std::to_string(id) + ")",
                           [this, kind, id] { return state_->flags[kind][id].set; });
        state_->take(Pipe::s, kind, id);
        return;
    }
    state_->enqueue(target, flag_command(Command::Kind::wait_flag, target, kind, id, name));
}

void Unit::barrier(Pipe pipe) {
    Command command;
    command.kind = Command::Kind::barrier;
    command.name = "PipeBarrier";
    state_->enqueue(pipe, std::move(command));
}

void Unit::barrier_all() {
    UnitState& state = *state_;
    state.wait_until("PipeBarrier<PIPE_ALL>", [&state] { return state.idle(); });
    state.drained = true;
    state.has_last_tile = false;
    if (plain_) return;
    Stamp all = state.stamp(Pipe::s);
    for (int pipe = 1; pipe < kPipes; pipe++) {
        const Stamp one = state.stamp(static_cast<Pipe>(pipe));
        if (checking_) all.clock.join(one.clock);
        all.time = std::max(all.time, one.time);
    }
    for (int pipe = 0; pipe < kPipes; pipe++) state.join(static_cast<Pipe>(pipe), all);
}

void Unit::cross_set(int mode, Pipe pipe, int id) {
    state_->check_cross("CrossCoreSetFlag", mode, id);
    state_->counts.cross_sets++;
    if (pipe == Pipe::s) return state_->produce(pipe, mode, id);
    Command command;
    command.kind = Command::Kind::cross_set;
    command.mode = mode;
    command.id = id;
    command.name = "CrossCoreSetFlag";
    state_->enqueue(pipe, std::move(command));
}

void Unit::cross_wait(int mode, Pipe pipe, int id) {
    state_->check_cross("CrossCoreWaitFlag", mode, id);
    state_->counts.cross_waits++;
    // dav-2201 stops the whole core.
    if (pipe == Pipe::s || arch_ == Arch::dav2201) {
        state_->wait_until("CrossCoreWaitFlag<" + std::to_string(mode) + ">(" + std::to_string(id) + ")",
                           [this, mode, id] { return state_->cross_ready(mode, id); });
        state_->consume(Pipe::s, mode, id);
        return;
    }
    Command command;
    command.kind = Command::Kind::cross_wait;
    command.mode = mode;
    command.id = id;
    command.name = "CrossCoreWaitFlag";
    state_->enqueue(pipe, std::move(command));
}

void Unit::sync_all(bool vector_only) {
    if (vector_only && role_ == Role::cube) {
        if (checking_)
            fault("SyncAll", "expected SyncAll<false>() on a cube core: SyncAll<true>() is for vector cores");
        return;
    }
    barrier_all();
    const int mode = vector_only ? kSyncVectorMode : kSyncAllMode;
    state_->produce(Pipe::s, mode, 0);
    state_->wait_until("SyncAll", [this, mode] { return state_->cross_ready(mode, 0); });
    state_->consume(Pipe::s, mode, 0);
}

void Unit::init_soc_state() { state_->initialised = true; }

void Unit::vector_function_access(const void* address, uint32_t bytes, bool write, const char* name) {
    UnitState& state = *state_;
    if (state.function == nullptr) fault(name, "expected to be called by a function that asc_vf_call runs");
    const uint8_t* base = memory(Space::ub);
    const uint64_t start = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - base);
    if (static_cast<const uint8_t*>(address) < base || start + bytes > space_bytes(arch_, Space::ub)) {
        fault(name, "address: expected bytes within the " + std::to_string(space_bytes(arch_, Space::ub)) +
                        " of UB, got " + std::to_string(static_cast<int64_t>(start)) + " to " +
                        std::to_string(static_cast<int64_t>(start + bytes)));
    }
    Region region;
    region.space = Space::ub;
    region.write = write;
    region.base = start;
    region.row_bytes = bytes;
    use_high_water(Space::ub, start + bytes);
    (write ? state.function_work.stores : state.function_work.loads)++;
    if (!checking_) return;
    state.touch(*state.function, region, state.function_epoch, state.function_clock, Pipe::v);
    for (uint64_t granule = start / 32; granule * 32 < start + bytes; granule++) {
        uint64_t& word = state.function_stores[granule / 64];
        const uint64_t bit = uint64_t{1} << (granule % 64);
        if (write) word |= bit;
        else if ((word & bit) != 0) {
            fault(name, "expected LocalMemBar<VEC_STORE, VEC_LOAD>() between a store and a load of UB byte " +
                            std::to_string(granule * 32) + " in one vector function");
        }
    }
}

void Unit::vector_function_work(bool slow) {
    state_->function_work.repeats++;
    if (slow) state_->function_work.slow_repeats++;
}

void Unit::vector_function_barrier() { std::fill(state_->function_stores.begin(), state_->function_stores.end(), 0); }

void Unit::use_high_water(Space space, uint64_t end) {
    uint64_t& mark = state_->counts.high_water[static_cast<int>(space)];
    mark = std::max(mark, end);
}

}  // namespace acl_attn::sim
