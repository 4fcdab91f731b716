// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __NPU_ARCH__ == 2201
#include "ascendc/tile/arch2201/softmax.h"
#else
#include "ascendc/tile/arch3510/softmax.h"
#endif
