// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The chip that the host target says it is. By default it is itself; under a chip's name it answers with that chip's
// figures, so that what is computed from them (task splits, metadata) comes out as on the chip.
#pragma once

#include <cstdint>

namespace acl_attn::runtime {

// Zero: not known, or not meaningful for the processor.
struct Soc {
    const char* name;
    int32_t cube_cores;
    int32_t vector_cores;
    int32_t aicpus;
    int64_t memory;           // bytes
    int64_t l2_cache;         // bytes
    int64_t vector_buffer;    // bytes of on-chip memory a vector core has
    int32_t architecture;     // NPU_ARCH
};

// Chosen at the first call, by the environment variable ACL_ATTN_SOC_NAME; a name that the table does not have is
// answered as the name, with the processor's figures.
const Soc& soc() noexcept;

}  // namespace acl_attn::runtime
