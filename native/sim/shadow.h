// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Who touched which bytes, to find two operations on the same bytes, one of them writing, that nothing puts in order.
// Exact to the byte; kept per 32 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/clock.h"

namespace acl_attn::sim {

struct Access {
    const char* name;
    uint32_t epoch;
    uint32_t agent;
    uint8_t first;  // bytes of the granule
    uint8_t end;
    bool write;
};

class Shadow {
public:
    // Returns the earlier access that is not ordered before this one, or null. Then records this one.
    // `bytes` from `address`; epoch and clock are those of the operation.
    const Access* touch(uint64_t address, uint64_t bytes, const Access& access, const Clock& clock);

private:
    using Granule = std::vector<Access>;

    const Access* touch_granule(Granule& granule, const Access& access, const Clock& clock);

    std::unordered_map<uint64_t, Granule> granules_;
    Access conflict_;
};

}  // namespace acl_attn::sim
