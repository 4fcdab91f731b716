// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/flash_attention/entry.h"

#if __NPU_ARCH__ == 3510  // which has vector conversions of these types
ACL_ATTN_FA_STORED(f8_e4m3, fp8_e4m3fn_t)
ACL_ATTN_FA_STORED(hif8, hifloat8_t)
ACL_ATTN_FA_STORED(f4_e2m1, fp4x2_e2m1_t)
#endif
