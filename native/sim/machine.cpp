// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <cstring>

namespace acl_attn::sim {

namespace {

// NaN in every floating-point type, and no likely number in the others.
constexpr int kPoison = 0xff;

void allocate(const LaunchOptions& options, Space space, Memory& memory) {
    const uint32_t bytes = space_bytes(options.arch, space);
    memory.bytes.reset(static_cast<uint8_t*>(::operator new(bytes, kMemoryAlignment)));
    if (options.checks) std::memset(memory.bytes.get(), kPoison, bytes);
}

}  // namespace

Machine::Machine(const LaunchOptions& launch_options, const std::function<void()>& launch_kernel)
    : options(launch_options),
      kernel(launch_kernel),
      chip(chip_figures(launch_options.arch)),
      random(launch_options.seed) {
    for (uint32_t index = 0; index < options.blocks; index++) {
        auto core = std::make_unique<Core>();
        for (Space space : {Space::l1, Space::l0a, Space::l0b, Space::l0c, Space::bias, Space::fixpipe}) {
            allocate(options, space, core->shared[static_cast<int>(space)]);
        }
        for (Memory& memory : core->unified) allocate(options, Space::ub, memory);
        core->units[0] = std::make_unique<Unit>(*this, index, Role::cube, 0);
        for (uint32_t sub_block = 0; sub_block < kVectorCores; sub_block++) {
            core->units[1 + sub_block] = std::make_unique<Unit>(*this, index, Role::vector, sub_block);
        }
        cores.push_back(std::move(core));
    }
    if (!options.checks) return;
    for (const Buffer& buffer : options.buffers) {
        const bool is_workspace = buffer.poison && buffer.writable;
        written.emplace_back(reinterpret_cast<uint64_t>(buffer.address), is_workspace ? buffer.bytes : 0);
        if (is_workspace) std::memset(const_cast<void*>(buffer.address), kPoison, buffer.bytes);
    }
}

Memory& Machine::memory(const Unit& unit, Space space, int vector_core) {
    Core& core = *cores[unit.core()];
    if (space == Space::ub) {
        if (vector_core < 0 && unit.role() == Role::cube)
            throw Fault{"UB: expected a vector core, got a cube core, which has none"};
        return core.unified[vector_core < 0 ? unit.sub_block() : static_cast<uint32_t>(vector_core)];
    }
    if (space == Space::gm)
        throw Fault{"LocalTensor: expected a tensor with a place, got one that was never given any"};
    return core.shared[static_cast<int>(space)];
}

Channel& Machine::channel(const ChannelKey& key, uint32_t producers, uint32_t consumers) {
    const auto found = channels.find(key);
    if (found != channels.end()) return found->second;
    return channels.emplace(key, Channel(producers, consumers)).first->second;
}

std::string Machine::unit_name(const Unit& unit) const {
    const std::string core = " core " + std::to_string(unit.core());
    if (unit.role() == Role::cube) return "cube" + core;
    return "vector" + core + "." + std::to_string(unit.sub_block());
}

std::string Machine::agent_name(uint32_t agent) const {
    const uint32_t unit = agent / kPipes;
    const Core& core = *cores[unit / (1 + kVectorCores)];
    return std::string("pipe ") + pipe_name(static_cast<Pipe>(agent % kPipes)) + " of " +
           unit_name(*core.units[unit % (1 + kVectorCores)]);
}

namespace {
const Buffer* find_buffer(const std::vector<Buffer>& buffers, uint64_t address, uint64_t bytes) {
    for (const Buffer& buffer : buffers) {
        const uint64_t start = reinterpret_cast<uint64_t>(buffer.address);
        if (address >= start && address + bytes <= start + buffer.bytes) return &buffer;
    }
    return nullptr;
}
}  // namespace

void Machine::check_global(const Unit& unit, const char* name, uint64_t address, uint64_t bytes, bool write) {
    if (options.buffers.empty()) return;
    const Buffer* buffer = find_buffer(options.buffers, address, bytes);
    if (buffer != nullptr && write && !buffer->writable)
        unit.fault(name, std::string("write to ") + buffer->name + ": expected a buffer for results or workspace");
    if (buffer != nullptr) {
        if (!buffer->poison || !buffer->writable) return;
        WrittenBlocks& known = written[static_cast<size_t>(buffer - options.buffers.data())];
        if (write) return known.add(address, bytes);
        const uint64_t unwritten = known.first_unwritten(address, bytes);
        if (unwritten == address + bytes) return;
        const uint64_t begin = address - reinterpret_cast<uint64_t>(buffer->address);
        unit.fault(name, std::string("read of ") + buffer->name + " bytes " + std::to_string(begin) + " to " +
                             std::to_string(begin + bytes) + ": expected what this launch has written, got byte " +
                             std::to_string(begin + unwritten - address) + ", which it has not");
    }
    // Which buffer was meant: the one that holds the first byte, or ends where it starts.
    for (const Buffer& near : options.buffers) {
        const uint64_t start = reinterpret_cast<uint64_t>(near.address);
        if (address < start || address > start + near.bytes) continue;
        unit.fault(name, std::string(write ? "write to " : "read of ") + near.name + ": expected bytes within its " +
                             std::to_string(near.bytes) + ", got " + std::to_string(address - start) + " to " +
                             std::to_string(address - start + bytes));
    }
    unit.fault(name, std::string(write ? "write to" : "read of") +
                         " global memory: expected a buffer of the call, got another address");
}

bool Machine::is_constant(uint64_t address) const {
    const Buffer* buffer = find_buffer(options.buffers, address, 1);
    return buffer != nullptr && !buffer->writable;
}

uint64_t Machine::buffer_start(uint64_t address) const {
    const Buffer* buffer = find_buffer(options.buffers, address, 1);
    return buffer == nullptr ? 0 : reinterpret_cast<uint64_t>(buffer->address);
}

void Machine::check_dirty(const Unit& unit, const char* name, uint64_t address, uint64_t bytes) {
    for (const auto& core : cores) {
        for (const auto& other : core->units) {
            for (const auto& [begin, end] : other->state().dirty) {
                if (begin >= address + bytes || end <= address) continue;
                unit.fault(name, "expected DataCacheCleanAndInvalid after the SetValue of " + unit_name(*other) +
                                     " on these bytes of global memory, got them from its cache's shadow");
            }
        }
    }
}

void Machine::fail(const std::string& text) {
    std::lock_guard<std::mutex> guard(error_mutex);
    if (error.empty()) error = text;
    stopped = true;
}

}  // namespace acl_attn::sim
