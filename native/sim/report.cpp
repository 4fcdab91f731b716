// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What is left over at the end of a kernel, and the words for where a core stands.
#include "sim/machine.h"

namespace acl_attn::sim {

std::string Command::describe() const {
    const std::string number = "(" + std::to_string(id) + ")";
    switch (kind) {
        case Kind::operation: return name;
        case Kind::set_flag: return std::string("SetFlag<") + name + ">" + number;
        case Kind::wait_flag: return std::string("WaitFlag<") + name + ">" + number;
        case Kind::barrier: return "PipeBarrier";
        case Kind::cross_set: return "CrossCoreSetFlag<" + std::to_string(mode) + ">" + number;
        case Kind::cross_wait: return "CrossCoreWaitFlag<" + std::to_string(mode) + ">" + number;
    }
    return name;
}

std::string UnitState::report() const {
    std::string text = machine.unit_name(unit) + ": ";
    if (fiber == nullptr || !fiber->started()) text += "not started";
    else if (fiber->ended()) text += "ended";
    else text += waiting_for.empty() ? "running" : "program waits in " + waiting_for;
    for (int which = 1; which < kPipes; which++) {
        const std::deque<Command>& queue = pipes[which].queue;
        if (queue.empty()) continue;
        text += std::string("; pipe ") + pipe_name(static_cast<Pipe>(which)) + " stands at " +
                queue.front().describe() + ", " + std::to_string(queue.size()) + " in its queue";
    }
    for (int kind = 0; kind < kEventKinds; kind++) {
        for (int id = 0; id < kEventIds; id++) {
            const Flag& flag = flags[kind][id];
            if (flag.set) text += std::string("; flag ") + flag.name + " " + std::to_string(id) + " is set";
        }
    }
    return text;
}

void UnitState::check_end() {
    if (!unit.checking()) return;
    for (int kind = 0; kind < kEventKinds; kind++) {
        for (int id = 0; id < kEventIds; id++) {
            const Flag& flag = flags[kind][id];
            if (!flag.set) continue;
            unit.fault("end of kernel", std::string(flag.name) + " flag " + std::to_string(id) +
                                            ": expected a wait for every set, got one that nobody waited for");
        }
    }
    if (!drained) unit.fault("end of kernel", "expected PipeBarrier<PIPE_ALL>() behind the last operation");
}

void Machine::check_channels() {
    for (const auto& [key, channel] : channels) {
        if (channel.used_up()) continue;
        const char* from = key.from == Role::cube ? "cube" : "vector";
        std::string text = "end of kernel: flagId " + std::to_string(key.id) + " of mode " + std::to_string(key.mode) +
                           " from the " + from + " side";
        if (key.mode != 0) text += " of core " + std::to_string(key.core);
        fail(text + ": expected a wait for every set, got one that nobody waited for");
    }
}

}  // namespace acl_attn::sim
