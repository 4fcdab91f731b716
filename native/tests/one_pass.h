// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Before a kernel: the simulator's headers as the device's compiler sees the code in one of its passes, where the kind
// of core is known and what the other kind does is left out (__DAV_CUBE__, __DAV_VEC__), or both (neither is defined).
#pragma once

#include "kernel_operator.h"

#undef ASCEND_IS_AIC
#undef ASCEND_IS_AIV
#if defined(__DAV_CUBE__)
#define ASCEND_IS_AIC constexpr(true)
#define ASCEND_IS_AIV constexpr(false)
#elif defined(__DAV_VEC__)
#define ASCEND_IS_AIC constexpr(false)
#define ASCEND_IS_AIV constexpr(true)
#else
#define ASCEND_IS_AIC constexpr(false)
#define ASCEND_IS_AIV constexpr(false)
#endif
