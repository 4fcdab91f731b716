// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ascendc/flash_attention/entry.h"

ACL_ATTN_FA_STORED(i8, int8_t)
ACL_ATTN_FA_STORED(i4, AscendC::int4b_t)
