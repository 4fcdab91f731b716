// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that are compiled (flash_attention/entry_*.cpp), for both architectures.
#pragma once

#include "ascendc/launch/table.h"

#define ACL_ATTN_FA_DECLARE(name) extern "C" void name(acl_attn::ascendc::FlashAttentionParams params);
#define ACL_ATTN_FA_EACH(use)                                                                             \
    use(2201, bf16, narrow) use(2201, bf16, wide) use(2201, bf16, latent)                                 \
    use(2201, f16, narrow) use(2201, f16, wide) use(2201, f16, latent)                                    \
    use(3510, bf16, narrow) use(3510, bf16, wide) use(3510, bf16, latent)                                 \
    use(3510, f16, narrow) use(3510, f16, wide) use(3510, f16, latent)

#define ACL_ATTN_FA_DECLARE_ONE(arch, element, size) \
    ACL_ATTN_FA_DECLARE(acl_attn_fa_##arch##_##element##_##size)
ACL_ATTN_FA_EACH(ACL_ATTN_FA_DECLARE_ONE)

namespace acl_attn::ascendc {

#define ACL_ATTN_FA_ENTRY_OF(arch, element, size)                                                    \
    {"acl_attn_fa_" #arch "_" #element "_" #size, arch, engine::Dtype::element, TileSize::size,      \
     acl_attn_fa_##arch##_##element##_##size},
inline constexpr Instantiation kInstantiations[] = {ACL_ATTN_FA_EACH(ACL_ATTN_FA_ENTRY_OF)};

}  // namespace acl_attn::ascendc
