// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that are compiled (flash_attention/entry_*.cpp), as macros: use(architecture, element, stored type, tile
// size), or, of quantised queries, use(architecture, element, scheme, tile size). Among those that serve a call, the
// first is taken.
#pragma once

#define ACL_ATTN_FA_PLAIN(use, arch)                                                              \
    use(arch, bf16, bf16, narrow) use(arch, bf16, bf16, latent) use(arch, bf16, bf16, wide)       \
    use(arch, f16, f16, narrow) use(arch, f16, f16, latent) use(arch, f16, f16, wide)
#define ACL_ATTN_FA_STORED_AS(use, arch, kv)                                                      \
    use(arch, bf16, kv, narrow) use(arch, bf16, kv, wide) use(arch, f16, kv, narrow) use(arch, f16, kv, wide)

#define ACL_ATTN_FA_EACH_2201(use)                                                                \
    ACL_ATTN_FA_PLAIN(use, 2201) ACL_ATTN_FA_STORED_AS(use, 2201, i8) ACL_ATTN_FA_STORED_AS(use, 2201, i4)
#define ACL_ATTN_FA_EACH_3510(use)                                                                \
    ACL_ATTN_FA_PLAIN(use, 3510) ACL_ATTN_FA_STORED_AS(use, 3510, i8)                             \
    ACL_ATTN_FA_STORED_AS(use, 3510, i4) ACL_ATTN_FA_STORED_AS(use, 3510, f8_e4m3)                \
    ACL_ATTN_FA_STORED_AS(use, 3510, hif8) ACL_ATTN_FA_STORED_AS(use, 3510, f4_e2m1)
#define ACL_ATTN_FA_EACH(use) ACL_ATTN_FA_EACH_2201(use) ACL_ATTN_FA_EACH_3510(use)

#define ACL_ATTN_FA_QUANTISED_I8(use, arch) \
    use(arch, i8, per_tensor, narrow) use(arch, i8, per_tensor, wide) use(arch, i8, mla, latent)
#define ACL_ATTN_FA_QUANTISED_EACH_2201(use) ACL_ATTN_FA_QUANTISED_I8(use, 2201)
#define ACL_ATTN_FA_QUANTISED_EACH_3510(use)                                       \
    ACL_ATTN_FA_QUANTISED_I8(use, 3510) use(3510, f8_e4m3, mla, latent)            \
    use(3510, hif8, mla, latent) use(3510, f8_e4m3, gqa, narrow)
#define ACL_ATTN_FA_QUANTISED_EACH(use) ACL_ATTN_FA_QUANTISED_EACH_2201(use) ACL_ATTN_FA_QUANTISED_EACH_3510(use)

// Those of sparse attention (sparse_attention/entry.cpp): use(architecture, element, type of a row's numbers).
#define ACL_ATTN_SPARSE_EACH_2201(use) use(2201, bf16, bf16) use(2201, f16, f16)
#define ACL_ATTN_SPARSE_EACH_3510(use) \
    use(3510, bf16, bf16) use(3510, f16, f16) use(3510, bf16, f8_e4m3) use(3510, bf16, hif8)
#define ACL_ATTN_SPARSE_EACH(use) ACL_ATTN_SPARSE_EACH_2201(use) ACL_ATTN_SPARSE_EACH_3510(use)
