// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/flash_attention/entry.h"

ACL_ATTN_FA_ENTRY(bf16_bf16_narrow, bfloat16_t, bfloat16_t, narrow)
ACL_ATTN_FA_ENTRY(bf16_bf16_wide, bfloat16_t, bfloat16_t, wide)
ACL_ATTN_FA_ENTRY(bf16_bf16_latent, bfloat16_t, bfloat16_t, latent)
