// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/amx_permission.h"

#if defined(__linux__) && defined(__x86_64__)

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace acl_attn::engine {
namespace {

// Of the kernel's interface; its header is newer than some systems' headers.
constexpr int kGetSupported = 0x1021, kGetPermitted = 0x1022, kRequest = 0x1023;
constexpr int kTileData = 18;

bool has_tile_data(int question) {
    uint64_t states = 0;
    return syscall(SYS_arch_prctl, question, &states) == 0 && (states >> kTileData & 1) != 0;
}

std::atomic<bool> g_refused{false};

}  // namespace

bool is_amx_offered() {
    static const bool supported = has_tile_data(kGetSupported);
    return supported && !g_refused.load(std::memory_order_relaxed);
}

bool ask_for_amx() {
    static const bool granted = [] {
        const bool yes = is_amx_offered() && syscall(SYS_arch_prctl, kRequest, kTileData) == 0 &&
                         has_tile_data(kGetPermitted);
        if (!yes) g_refused.store(true, std::memory_order_relaxed);
        return yes;
    }();
    return granted;
}

}  // namespace acl_attn::engine

#else

namespace acl_attn::engine {

bool is_amx_offered() { return false; }
bool ask_for_amx() { return false; }

}  // namespace acl_attn::engine

#endif
