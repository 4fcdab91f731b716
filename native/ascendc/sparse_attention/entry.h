// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Entry points of the sparse kernels, one an instantiation: acl_attn_sparse_<architecture>_<element>_<stored rows>. A
// launch file per target calls them. ascendc/launch/kernel_list.h lists them.
#pragma once

#include "ascendc/flash_attention/kernel.h"
#include "ascendc/sparse_attention/terms.h"

#if __NPU_ARCH__ == 2201
#define ACL_ATTN_SPARSE_NAME(suffix) acl_attn_sparse_2201_##suffix
#else
#define ACL_ATTN_SPARSE_NAME(suffix) acl_attn_sparse_3510_##suffix
#endif

#define ACL_ATTN_SPARSE_ENTRY(suffix, element, row)                                                  \
    extern "C" __global__ __mix__(1, 2) void ACL_ATTN_SPARSE_NAME(suffix)(                           \
        acl_attn::ascendc::SparseAttentionParams params) {                                           \
        using namespace acl_attn::ascendc;                                                           \
        using Kernel = SparseTraits<element, row>;                                                   \
        RunKernel<Kernel, VectorSide<Kernel, SparseTerms<Kernel>>>(params);                          \
    }
