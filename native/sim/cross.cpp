// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Who sets and who waits for a flag between cores, by mode.
#include "sim/machine.h"

namespace acl_attn::sim {

namespace {

constexpr int kLastFreeId = 10;        // 11 to 14 are those of SyncAll
constexpr int kSecondVectorCore = 16;  // mode 4, on the cube core: added to the ids of the second vector core
constexpr uint32_t kMostOutstanding = 15;

struct Party {
    ChannelKey key;
    uint32_t producers;
    uint32_t consumers;
    uint32_t own;  // index among the producers (to set) or the consumers (to wait)
};

Party party(const UnitState& state, int mode, int id, bool to_set) {
    const Unit& unit = state.unit;
    const bool cube = unit.role() == Role::cube;
    const uint32_t blocks = unit.blocks();
    // Flags of modes 2 and 4 that this unit sets start here; those that it waits for, on the other side.
    const Role from = to_set == cube ? Role::cube : Role::vector;
    switch (mode) {
        case 0: {
            const uint32_t count = cube ? blocks : blocks * kVectorCores;
            return {{0, id, unit.role(), 0, 0},
                    count,
                    count,
                    cube ? unit.core() : unit.core() * kVectorCores + unit.sub_block()};
        }
        case 1: return {{1, id, Role::vector, unit.core(), 0}, kVectorCores, kVectorCores, unit.sub_block()};
        case 2: {
            const bool from_cube = from == Role::cube;
            return {{2, id, from, unit.core(), 0},
                    from_cube ? 1 : kVectorCores,
                    from_cube ? kVectorCores : 1,
                    cube ? 0 : unit.sub_block()};
        }
        case 4: {
            const uint32_t sub_block = cube ? (id >= kSecondVectorCore ? 1 : 0) : unit.sub_block();
            return {{4, id % kSecondVectorCore, from, unit.core(), sub_block}, 1, 1, 0};
        }
        case kSyncVectorMode: {
            const uint32_t count = blocks * kVectorCores;
            return {{mode, 0, Role::vector, 0, 0}, count, count, unit.core() * kVectorCores + unit.sub_block()};
        }
        default: {
            const uint32_t count = blocks * (1 + kVectorCores);
            return {{mode, 0, Role::cube, 0, 0}, count, count, state.index};
        }
    }
}

}  // namespace

void UnitState::check_cross(const char* name, int mode, int id) const {
    if (mode == 1 && unit.role() == Role::cube)
        unit.fault(name, "modeId: 1 is between vector cores, got it on a cube core");
    const bool cube_of_mode_4 = mode == 4 && unit.role() == Role::cube;
    const int low = cube_of_mode_4 && id >= kSecondVectorCore ? id - kSecondVectorCore : id;
    if (low < 0 || low > kLastFreeId) {
        unit.fault(name, std::string("flagId: expected 0 to 10") + (cube_of_mode_4 ? " or 16 to 26" : "") + ", got " +
                             std::to_string(id) + "; 11 to 14 are those of SyncAll");
    }
}

void UnitState::produce(Pipe pipe, int mode, int id) {
    const Party who = party(*this, mode, id, true);
    Stamp now = stamp(pipe);
    now.time += machine.chip.cross_core_cycles;
    this->pipe(pipe).counts.sets++;
    std::lock_guard<std::mutex> guard(machine.channel_mutex);
    Channel& channel = machine.channel(who.key, who.producers, who.consumers);
    channel.set(who.own, std::move(now));
    if (unit.checking() && channel.outstanding(who.own) > kMostOutstanding) {
        unit.fault("CrossCoreSetFlag",
                   "flagId " + std::to_string(id) + ": expected at most 15 sets without a wait, got 16");
    }
    machine.progress++;
}

bool UnitState::cross_ready(int mode, int id) {
    const Party who = party(*this, mode, id, false);
    std::lock_guard<std::mutex> guard(machine.channel_mutex);
    return machine.channel(who.key, who.producers, who.consumers).ready(who.own);
}

void UnitState::consume(Pipe pipe, int mode, int id) {
    const Party who = party(*this, mode, id, false);
    Stamp seen;
    {
        std::lock_guard<std::mutex> guard(machine.channel_mutex);
        seen = machine.channel(who.key, who.producers, who.consumers).wait(who.own);
    }
    this->pipe(pipe).counts.waits++;
    join(pipe, seen);
    machine.progress++;
}

}  // namespace acl_attn::sim
