// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of compiled kernels, with the functions that the simulator runs; null where CANN launches them.
#pragma once

#include "ascendc/launch/kernel_list.h"
#include "ascendc/launch/table.h"

#define ACL_ATTN_FA_DECLARE(arch, element, kv, size) \
    extern "C" void acl_attn_fa_##arch##_##element##_##kv##_##size(acl_attn::ascendc::FlashAttentionParams params);
ACL_ATTN_FA_EACH(ACL_ATTN_FA_DECLARE)
ACL_ATTN_FA_QUANTISED_EACH(ACL_ATTN_FA_DECLARE)

namespace acl_attn::ascendc {

// On an NPU a kernel is launched by its name.
#ifdef ACL_ATTN_KERNELS_BY_NAME
#define ACL_ATTN_KERNEL(name) nullptr
#else
#define ACL_ATTN_KERNEL(name) name
#endif

#define ACL_ATTN_FA_INSTANTIATION(arch, element, kv, size)                                                  \
    {"acl_attn_fa_" #arch "_" #element "_" #kv "_" #size, arch, engine::Dtype::element, engine::Dtype::kv,  \
     TileSize::size, Scheme::none, ACL_ATTN_KERNEL(acl_attn_fa_##arch##_##element##_##kv##_##size)},
#define ACL_ATTN_FA_QUANTISED_INSTANTIATION(arch, element, scheme, size)                                            \
    {"acl_attn_fa_" #arch "_" #element "_" #scheme "_" #size, arch, engine::Dtype::element, engine::Dtype::element, \
     TileSize::size, Scheme::scheme, ACL_ATTN_KERNEL(acl_attn_fa_##arch##_##element##_##scheme##_##size)},
inline constexpr Instantiation kInstantiations[] = {
    ACL_ATTN_FA_EACH(ACL_ATTN_FA_INSTANTIATION) ACL_ATTN_FA_QUANTISED_EACH(ACL_ATTN_FA_QUANTISED_INSTANTIATION)};

}  // namespace acl_attn::ascendc
