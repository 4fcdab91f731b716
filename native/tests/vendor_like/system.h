// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Order between pipes and cores, and what a kernel can ask about where it runs.
#pragma once

#include "tensors.h"

namespace AscendC {

template <HardEvent event>
__aicore__ void SetFlag(int32_t eventID);
template <HardEvent event>
__aicore__ void WaitFlag(int32_t eventID);
template <pipe_t pipe>
__aicore__ void PipeBarrier();

template <uint8_t modeId, pipe_t pipe>
__aicore__ inline void CrossCoreSetFlag(uint16_t) {
    static_assert(modeId <= 2 || (modeId == 4 && strict::k3510), "modeId: expected one that this chip has");
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
__aicore__ inline void CrossCoreWaitFlag(uint16_t) {
    static_assert(modeId <= 2 || (modeId == 4 && strict::k3510), "modeId: expected one that this chip has");
}

struct SyncAllConfig {
    pipe_t triggerPipe;
    pipe_t waitPipe;
};
constexpr SyncAllConfig DEFAULT_SYNC_ALL_CONFIG = {PIPE_ALL, PIPE_ALL};
#if __NPU_ARCH__ == 3510
template <bool isAIVOnly = true, const SyncAllConfig& config = DEFAULT_SYNC_ALL_CONFIG>
#else
template <bool isAIVOnly = true>
#endif
__aicore__ inline void SyncAll() {}

__aicore__ void InitSocState();
template <typename T, CacheLine entireType, DcciDst dcciDst>
__aicore__ void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst);

__aicore__ int64_t GetBlockNum();
__aicore__ int64_t GetBlockIdx();
__aicore__ int64_t GetSubBlockIdx();
__aicore__ int64_t GetTaskRatio();

}  // namespace AscendC
