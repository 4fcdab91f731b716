// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel API on the host: what the bundled kernels use of AscendC, and no more. Where the device's compiler is, its
// own header of this name is found instead. A kernel runs inside acl_attn::sim::launch (sim/launch.h).
#pragma once

#include "ascendc/cast.h"
#include "ascendc/copy.h"
#include "ascendc/mmad.h"
#include "ascendc/fixpipe.h"
#include "ascendc/reduce.h"
#include "ascendc/select.h"
#include "ascendc/sync.h"
#include "ascendc/vector.h"
#include "ascendc/vector_fill.h"
#if __NPU_ARCH__ == 3510
#include "ascendc/reg.h"
#endif
