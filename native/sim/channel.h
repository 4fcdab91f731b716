// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// A flag between cores: a counter per pair of producer group and consumer. A consumer's wait passes when every producer
// has set once more than it has waited.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/clock.h"

namespace acl_attn::sim {

struct Stamp {
    Clock clock;
    uint64_t time = 0;
};

class Channel {
public:
    Channel(uint32_t producers, uint32_t consumers) : sets_(producers), waits_(consumers), stamps_(producers) {}

    uint32_t set(uint32_t producer, Stamp stamp) {
        stamps_[producer].push_back(std::move(stamp));
        return ++sets_[producer];
    }
    bool ready(uint32_t consumer) const {
        for (const uint32_t count : sets_) {
            if (count <= waits_[consumer]) return false;
        }
        return true;
    }
    // Needs ready(). Joins what the producers had done when they set.
    Stamp wait(uint32_t consumer) {
        const uint32_t turn = waits_[consumer]++ - dropped_;
        Stamp result = stamps_[0][turn];
        for (size_t producer = 1; producer < stamps_.size(); producer++) {
            const Stamp& stamp = stamps_[producer][turn];
            result.clock.join(stamp.clock);
            result.time = std::max(result.time, stamp.time);
        }
        drop_used();
        return result;
    }
    // Sets of this producer that the slowest consumer has not waited for.
    uint32_t outstanding(uint32_t producer) const {
        const uint32_t least = *std::min_element(waits_.begin(), waits_.end());
        return sets_[producer] - least;
    }
    bool used_up() const {
        for (uint32_t producer = 0; producer < sets_.size(); producer++) {
            if (outstanding(producer) != 0) return false;
        }
        return true;
    }
    uint32_t sets(uint32_t producer) const { return sets_[producer]; }
    uint32_t waits(uint32_t consumer) const { return waits_[consumer]; }
    uint32_t producers() const { return static_cast<uint32_t>(sets_.size()); }

private:
    void drop_used() {
        const uint32_t least = *std::min_element(waits_.begin(), waits_.end());
        for (; dropped_ < least; dropped_++) {
            for (std::deque<Stamp>& stamps : stamps_) stamps.pop_front();
        }
    }

    std::vector<uint32_t> sets_;
    std::vector<uint32_t> waits_;
    std::vector<std::deque<Stamp>> stamps_;
    uint32_t dropped_ = 0;
};

}  // namespace acl_attn::sim
