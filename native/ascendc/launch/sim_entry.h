// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What libacl_attn_sim exports beside the C interface: it runs a kernel by its name, as the libraries that CANN's
// compiler makes of the kernels do, so that tests of the npu target have kernels to launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascendc/flash_attention/params.h"
#include "engine/memory_range.h"

// Runs to the end. With the simulator's checks on, the kernel may touch `ranges` and nothing else. Null, or what went
// wrong in words, which last until the thread's next call.
extern "C" __attribute__((visibility("default"))) const char* acl_attn_sim_launch(
    const char* name, const acl_attn::ascendc::FlashAttentionParams* params, uint32_t cores,
    const acl_attn::engine::MemoryRange* ranges, size_t count);
