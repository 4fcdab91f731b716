// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/sparse_attention/entry.h"

ACL_ATTN_SPARSE_ENTRY(bf16_bf16, bfloat16_t, bfloat16_t)
ACL_ATTN_SPARSE_ENTRY(f16_f16, half, half)
#if __NPU_ARCH__ == 3510  // which has vector conversions of these types
ACL_ATTN_SPARSE_ENTRY(bf16_f8_e4m3, bfloat16_t, fp8_e4m3fn_t)
ACL_ATTN_SPARSE_ENTRY(bf16_hif8, bfloat16_t, hifloat8_t)
#endif
