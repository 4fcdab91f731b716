// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a kernel runs, and all cores of a launch together.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// The first and the last call of a kernel without a TPipe.
__aicore__ inline void BeginKernel() { AscendC::InitSocState(); }
__aicore__ inline void EndKernel() { AscendC::PipeBarrier<PIPE_ALL>(); }

// The AI core, whichever of its cores asks; and, of those, which vector core.
__aicore__ inline int64_t CoreNumber() { return AscendC::GetBlockIdx() / AscendC::GetTaskRatio(); }
__aicore__ inline int32_t VectorCoreOfCore() { return static_cast<int32_t>(AscendC::GetSubBlockIdx()); }

// Among the vector cores of the launch.
__aicore__ inline int64_t VectorCoreNumber() { return AscendC::GetBlockIdx(); }
__aicore__ inline int64_t VectorCoreCount() { return AscendC::GetBlockNum() * kVectorCores; }

// Every core of either kind has done everything so far. All must call it.
__aicore__ inline void WaitForAllCores() {
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::SyncAll<false>();
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
