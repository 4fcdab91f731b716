// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Signals between a cube core and its two vector cores on dav-3510. Mode 4: each pair of cores has a flag of its own;
// the cube calls vector core 1's by a number 16 higher. A wait stops one pipe only.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <uint16_t kFlag>
struct Signal {
    static_assert(kFlag <= 10, "vector cores have flags 0 to 10");
    static constexpr uint16_t kSecond = kFlag + 16;

    template <pipe_t kPipe>
    __aicore__ static inline void SetByCube() {
        AscendC::CrossCoreSetFlag<4, kPipe>(kFlag);
        AscendC::CrossCoreSetFlag<4, kPipe>(kSecond);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void WaitInVector() {
        AscendC::CrossCoreWaitFlag<4, kPipe>(kFlag);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void SetByVector() {
        AscendC::CrossCoreSetFlag<4, kPipe>(kFlag);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void WaitInCube() {
        AscendC::CrossCoreWaitFlag<4, kPipe>(kFlag);
        AscendC::CrossCoreWaitFlag<4, kPipe>(kSecond);
    }
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
