// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/shadow.h"

namespace acl_attn::sim {

namespace {
constexpr uint64_t kGranule = 32;
}

const Access* Shadow::touch(uint64_t address, uint64_t bytes, const Access& access, const Clock& clock) {
    const uint64_t end = address + bytes;
    for (uint64_t granule = address / kGranule; granule * kGranule < end; granule++) {
        const uint64_t start = granule * kGranule;
        Access part = access;
        part.first = static_cast<uint8_t>(address > start ? address - start : 0);
        part.end = static_cast<uint8_t>(std::min(end - start, kGranule));
        if (const Access* conflict = touch_granule(granules_[granule], part, clock)) return conflict;
    }
    return nullptr;
}

const Access* Shadow::touch_granule(Granule& granule, const Access& access, const Clock& clock) {
    size_t kept = 0;
    for (size_t i = 0; i < granule.size(); i++) {
        const Access& earlier = granule[i];
        const bool same = earlier.agent == access.agent && earlier.epoch == access.epoch;
        const bool overlaps = earlier.first < access.end && access.first < earlier.end;
        const bool conflicting = overlaps && (earlier.write || access.write) && !same;
        if (conflicting && !clock.knows(earlier.agent, earlier.epoch)) {
            conflict_ = earlier;
            return &conflict_;
        }
        // An earlier access that this one hides from everybody who comes after it need not be kept.
        const bool covered = access.first <= earlier.first && earlier.end <= access.end;
        const bool hidden = access.write ? true : !earlier.write && earlier.agent == access.agent;
        if (covered && hidden) continue;
        if (kept != i) granule[kept] = earlier;
        kept++;
    }
    granule.resize(kept);
    granule.push_back(access);
    return nullptr;
}

}  // namespace acl_attn::sim
