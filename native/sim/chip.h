// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The two chip generations that the simulator knows: what one AI core holds and how its addresses are aligned.
// Figures are the vendor's published ones; nothing here was measured on a device.
#pragma once

#include <cstdint>

namespace acl_attn::sim {

enum class Arch : uint8_t { dav2201, dav3510 };  // Ascend 910B and A3; Ascend 950

enum class Space : uint8_t { gm, ub, l1, l0a, l0b, l0c, bias, fixpipe };
constexpr int kSpaces = 8;

constexpr const char* space_name(Space space) {
    constexpr const char* kNames[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return kNames[static_cast<int>(space)];
}

constexpr uint32_t kKiB = 1024;

// Bytes of one memory of one core (UB: of one vector core). On dav2201 the last 256 bytes of UB and L1 belong to the
// system.
constexpr uint32_t space_bytes(Arch arch, Space space) {
    const bool first = arch == Arch::dav2201;
    switch (space) {
        case Space::gm: return 0;
        case Space::ub: return first ? 192 * kKiB - 256 : 248 * kKiB;
        case Space::l1: return first ? 512 * kKiB - 256 : 512 * kKiB;
        case Space::l0a:
        case Space::l0b: return 64 * kKiB;
        case Space::l0c: return first ? 128 * kKiB : 256 * kKiB;
        case Space::bias: return first ? 1 * kKiB : 4 * kKiB;
        case Space::fixpipe: return first ? 2 * kKiB : 4 * kKiB;
    }
    return 0;
}

// Multiple that a tensor's first byte must lie on.
constexpr uint32_t space_alignment(Space space) {
    switch (space) {
        case Space::gm: return 1;
        case Space::ub:
        case Space::l1: return 32;
        case Space::l0a:
        case Space::l0b: return 512;
        case Space::l0c:
        case Space::bias:
        case Space::fixpipe: return 64;
    }
    return 1;
}

constexpr uint32_t kBlockBytes = 32;     // the unit of strides
constexpr uint32_t kFractalBytes = 512;  // 16 rows of 32 bytes
constexpr uint32_t kRepeatBytes = 256;   // what a vector instruction takes at a time
constexpr uint32_t kVectorCores = 2;     // to one cube core

}  // namespace acl_attn::sim
