// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One packed row, for each instruction set. A table of its own beside kernels.h: it is compiled in seconds.
#pragma once

#include <cstdint>

#include "formats/packed_row.h"

namespace acl_attn::engine {

// By the type of the numbers (fp16, bf16, fp32) and of the codes (E4M3, HIFLOAT8).
struct PackedRowKernels {
    const char* name;
    bool (*pack[3][2])(const formats::PackedRowLayout&, const void* from, float full, float limit, uint8_t* row);
    void (*unpack[3][2])(const formats::PackedRowLayout&, const uint8_t* row, void* to);
};

extern const PackedRowKernels kPackedRowsPortable;
#ifdef ACL_ATTN_X86
extern const PackedRowKernels kPackedRowsAvx2;
extern const PackedRowKernels kPackedRowsAvx512;
#endif

}  // namespace acl_attn::engine
