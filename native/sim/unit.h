// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The interface between the kernel API (include/) and the machine: one cube core or one vector core, seen from the
// kernel code that runs on it. Functions that detect a fault throw Fault, which ends the launch; nothing outside a
// launch may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "sim/operation.h"

namespace acl_attn::sim {

// A rule broken by the kernel. The launch returns the text with the place in front.
struct Fault {
    std::string text;
};

enum class Role : uint8_t { cube, vector };

struct Machine;
struct UnitState;

class Unit {
public:
    Unit(Machine& machine, uint32_t core, Role role, uint32_t sub_block);
    ~Unit();
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;

    static Unit& current();  // throws Fault outside a launch

    Arch arch() const { return arch_; }
    Role role() const { return role_; }
    uint32_t core() const { return core_; }
    uint32_t sub_block() const { return sub_block_; }
    uint32_t blocks() const;
    // First byte of the core's memory; of UB, that of `vector_core` (-1: the unit's own).
    uint8_t* memory(Space space, int vector_core = -1) const;

    bool checking() const { return checking_; }
    // Whether an operation may simply be run: nothing is checked, counted or kept back.
    bool plain(Pipe pipe) const { return plain_ && waiting_[static_cast<int>(pipe)] == 0; }
    bool dry() const { return dry_; }  // count, but do not compute

    void submit(Operation operation, std::function<void()> body);
    // An access of the scalar unit, which takes effect at once.
    void scalar_access(const char* name, const Region& region);
    // From inside a vector function.
    void vector_function_access(const void* address, uint32_t bytes, bool write, const char* name);
    void vector_function_work(bool slow);  // one instruction between registers
    void vector_function_barrier();        // stores before it are seen by loads after it

    void set_flag(Pipe source, Pipe target, int kind, int id, const char* name);
    void wait_flag(Pipe source, Pipe target, int kind, int id, const char* name);
    void barrier(Pipe pipe);
    void barrier_all();
    void cross_set(int mode, Pipe pipe, int id);
    void cross_wait(int mode, Pipe pipe, int id);
    void sync_all(bool vector_only);
    void init_soc_state();
    void cache_clean(const char* name);

    [[noreturn]] void fault(const char* name, const std::string& text) const;
    void use_high_water(Space space, uint64_t end);

    UnitState& state() { return *state_; }
    Machine& machine() { return machine_; }

private:
    friend struct UnitState;

    Machine& machine_;
    std::unique_ptr<UnitState> state_;
    Arch arch_;
    Role role_;
    uint32_t core_;
    uint32_t sub_block_;
    bool plain_;
    bool checking_;
    bool dry_;
    uint32_t waiting_[kPipes] = {};  // operations kept back per pipe
};

// Runs `body` on the pipe. `describe(Operation&)` is called only when somebody wants to know.
template <class Describe, class Body>
inline void issue(Unit& unit, Pipe pipe, const char* name, Describe&& describe, Body&& body) {
    if (unit.plain(pipe)) {
        body();
        return;
    }
    Operation operation;
    operation.name = name;
    operation.pipe = pipe;
    describe(operation);
    unit.submit(std::move(operation), std::forward<Body>(body));
}

}  // namespace acl_attn::sim
