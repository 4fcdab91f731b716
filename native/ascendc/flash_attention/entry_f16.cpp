// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/flash_attention/entry.h"

ACL_ATTN_FA_ENTRY(f16_f16_narrow, half, half, narrow)
ACL_ATTN_FA_ENTRY(f16_f16_wide, half, half, wide)
ACL_ATTN_FA_ENTRY(f16_f16_latent, half, half, latent)
