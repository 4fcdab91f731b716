// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks. An agent is one pipe of one unit; its epoch counts its operations. A clock knows, for each agent, up
// to which epoch everything has happened before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace acl_attn::sim {

class Clock {
public:
    Clock() = default;
    explicit Clock(uint32_t agents) : epochs_(agents) {}

    uint32_t operator[](uint32_t agent) const { return epochs_[agent]; }
    void set(uint32_t agent, uint32_t epoch) { epochs_[agent] = epoch; }
    bool knows(uint32_t agent, uint32_t epoch) const { return epochs_[agent] >= epoch; }
    void join(const Clock& other) {
        for (size_t i = 0; i < other.epochs_.size(); i++) epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
    }

private:
    std::vector<uint32_t> epochs_;
};

}  // namespace acl_attn::sim
