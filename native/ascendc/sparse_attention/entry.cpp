// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/sparse_attention/entry.h"

ACL_ATTN_SPARSE_ENTRY(bf16_bf16, bfloat16_t, bfloat16_t)
ACL_ATTN_SPARSE_ENTRY(f16_f16, half, half)
