// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Entry points of the kernels, one an instantiation: acl_attn_fa_<architecture>_<element>_<tile size>. A launch file per
// target calls them.
#pragma once

#include "ascendc/flash_attention/kernel.h"

#if __NPU_ARCH__ == 2201
#define ACL_ATTN_FA_NAME(suffix) acl_attn_fa_2201_##suffix
#else
#define ACL_ATTN_FA_NAME(suffix) acl_attn_fa_3510_##suffix
#endif

#define ACL_ATTN_FA_ENTRY(suffix, element, size)                                                        \
    extern "C" __global__ __mix__(1, 2) void ACL_ATTN_FA_NAME(suffix)(                                  \
        acl_attn::ascendc::FlashAttentionParams params) {                                               \
        using namespace acl_attn::ascendc;                                                              \
        FlashAttention<Traits<element, element, TileSize::size>>(params);                               \
    }
