// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole of one launch: cores with their memories and units, flags between cores, and what the checks and counts
// share.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "sim/channel.h"
#include "sim/cost.h"
#include "sim/launch.h"
#include "sim/shadow.h"
#include "sim/unit_state.h"
#include "sim/written.h"

namespace acl_attn::sim {

// Pages, so that an address within a memory is aligned as its offset is.
constexpr std::align_val_t kMemoryAlignment{4096};
struct FreeMemory {
    void operator()(uint8_t* bytes) const { ::operator delete(bytes, kMemoryAlignment); }
};

// A memory with what the checks know about it.
struct Memory {
    std::unique_ptr<uint8_t[], FreeMemory> bytes;
    Shadow shadow;
};

struct Core {
    Memory shared[kSpaces];        // L1, L0A, L0B, L0C, BT, FB
    Memory unified[kVectorCores];  // UB
    std::unique_ptr<Unit> units[1 + kVectorCores];
};

// A flag id is used in one mode by one direction; global ones are shared by host threads.
struct ChannelKey {
    int mode;
    int id;
    Role from;
    uint32_t core;       // 0 for modes that span cores
    uint32_t sub_block;  // mode 4
    auto tuple() const { return std::tuple(mode, id, from, core, sub_block); }
    bool operator<(const ChannelKey& other) const { return tuple() < other.tuple(); }
};

// SyncAll goes through channels of its own.
constexpr int kSyncVectorMode = 100;
constexpr int kSyncAllMode = 101;

struct Machine {
    Machine(const LaunchOptions& launch_options, const std::function<void()>& launch_kernel);

    uint32_t unit_count() const { return options.blocks * (1 + kVectorCores); }
    uint32_t agent_count() const { return unit_count() * kPipes; }
    Memory& memory(const Unit& unit, Space space, int vector_core);
    Channel& channel(const ChannelKey& key, uint32_t producers, uint32_t consumers);
    std::string unit_name(const Unit& unit) const;
    std::string agent_name(uint32_t agent) const;

    // Throws Fault if the bytes are no part of a buffer that the kernel may use so, or workspace that nobody wrote.
    void check_global(const Unit& unit, const char* name, uint64_t address, uint64_t bytes, bool write);
    bool is_constant(uint64_t address) const;       // in a buffer that nobody writes
    uint64_t buffer_start(uint64_t address) const;  // of the buffer, 0 if none is known
    // Throws Fault if a scalar store to these bytes has not left its cache.
    void check_dirty(const Unit& unit, const char* name, uint64_t address, uint64_t bytes);

    LaunchOptions options;
    const std::function<void()>& kernel;
    const ChipFigures& chip;
    std::vector<std::unique_ptr<Core>> cores;
    Shadow global_shadow;
    std::vector<WrittenBlocks> written;  // of each buffer, empty where it need not be known
    LineSet lines;
    std::vector<TraceEvent> trace;
    std::mt19937_64 random;

    std::mutex channel_mutex;
    std::map<ChannelKey, Channel> channels;
    std::atomic<uint64_t> progress{0};
    std::atomic<bool> stopped{false};

    std::mutex error_mutex;
    std::string error;
    void fail(const std::string& text);
    void check_channels();  // that every set was waited for
};

}  // namespace acl_attn::sim
