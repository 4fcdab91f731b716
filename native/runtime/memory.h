// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The ranges of memory that the runtime knows: what it allocated and what was registered with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl_rt.h"

namespace acl_attn::runtime {

enum class MemoryKind { device, pinned, registered };

// Whether an address lies in a known range.
bool is_known_memory(const void* address) noexcept;

// Bytes from `address` to the end of the known range that it lies in; in other memory to the end of all addresses.
size_t known_room(const void* address) noexcept;

// Checks that `bytes` from `address` on do not run past the end of the known range that `address` lies in; memory that
// the runtime does not know passes. Keeps a message naming `parameter`.
aclError check_room(const char* parameter, const void* address, size_t bytes);

int64_t live_blocks(MemoryKind kind) noexcept;
uint64_t live_bytes() noexcept;  // device and pinned

// Around fork(): see fork.h.
void lock_memory() noexcept;
void unlock_memory() noexcept;

}  // namespace acl_attn::runtime
