// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the processor can do and the operating system lets us use.
#pragma once

#include <string>

namespace acl_attn::engine {

struct CpuFeatures {
    bool avx2 = false;         // with FMA and F16C
    bool avx512 = false;       // F, BW, DQ and VL
    bool avx512_vnni = false;
    bool avx512_bf16 = false;    // with VNNI
    bool fast_bf16_dot = false;  // its bf16 dot product beats fp32 multiply-add
    bool amx = false;            // BF16 and INT8, with AVX-512 BF16 and VBMI; amx_permission.h tells if it is permitted
    std::string names;         // space-separated
};

const CpuFeatures& cpu_features_found();  // detected once

}  // namespace acl_attn::engine
