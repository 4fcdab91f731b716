// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/flash_attention/entry.h"

ACL_ATTN_FA_QUANTISED_ENTRY(i8, int8_t, per_tensor, narrow)
ACL_ATTN_FA_QUANTISED_ENTRY(i8, int8_t, per_tensor, wide)
ACL_ATTN_FA_QUANTISED_ENTRY(i8, int8_t, mla, latent)
#if __NPU_ARCH__ == 3510  // whose cube multiplies these types
ACL_ATTN_FA_QUANTISED_ENTRY(f8_e4m3, fp8_e4m3fn_t, mla, latent)
ACL_ATTN_FA_QUANTISED_ENTRY(hif8, hifloat8_t, mla, latent)
ACL_ATTN_FA_QUANTISED_ENTRY(f8_e4m3, fp8_e4m3fn_t, gqa, narrow)
#endif
