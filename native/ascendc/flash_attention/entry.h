// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Entry points of the kernels, one an instantiation: acl_attn_fa_<architecture>_<element>_<stored type>_<tile size>, or
// <element>_<scheme>_<tile size> of quantised queries. A launch file per target calls them. They are listed in
// ascendc/launch/kernel_list.h.
#pragma once

#include "ascendc/flash_attention/kernel.h"

#if __NPU_ARCH__ == 2201
#define ACL_ATTN_FA_NAME(suffix) acl_attn_fa_2201_##suffix
#else
#define ACL_ATTN_FA_NAME(suffix) acl_attn_fa_3510_##suffix
#endif

#define ACL_ATTN_FA_ENTRY_OF(suffix, ...)                                                               \
    extern "C" __global__ __mix__(1, 2) void ACL_ATTN_FA_NAME(suffix)(                                  \
        acl_attn::ascendc::FlashAttentionParams params) {                                               \
        using namespace acl_attn::ascendc;                                                              \
        RunKernel<Traits<__VA_ARGS__>>(params);                                                         \
    }
#define ACL_ATTN_FA_ENTRY(suffix, element, kv, size) ACL_ATTN_FA_ENTRY_OF(suffix, element, kv, TileSize::size)
#define ACL_ATTN_FA_QUANTISED_ENTRY(name, element, scheme, size) \
    ACL_ATTN_FA_ENTRY_OF(name##_##scheme##_##size, element, element, TileSize::size, Scheme::scheme)

// Those that differ in the stored type only.
#define ACL_ATTN_FA_STORED(name, kv)                                  \
    ACL_ATTN_FA_ENTRY(bf16_##name##_narrow, bfloat16_t, kv, narrow)   \
    ACL_ATTN_FA_ENTRY(bf16_##name##_wide, bfloat16_t, kv, wide)       \
    ACL_ATTN_FA_ENTRY(f16_##name##_narrow, half, kv, narrow)          \
    ACL_ATTN_FA_ENTRY(f16_##name##_wide, half, kv, wide)
