// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Signals between a cube core and its two vector cores on dav-2201. Mode 2: a set by the cube raises both vector cores'
// flags, the cube's rises when both have set it; so both vector cores take part in every one, rows or not. A wait stops
// the whole waiting core: loads that do not depend on it are issued before.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

template <uint16_t kFlag>
struct Signal {
    static_assert(kFlag <= 10, "flags above 10 are those of SyncAll");

    template <pipe_t kPipe>
    __aicore__ static inline void SetByCube() {
        AscendC::CrossCoreSetFlag<2, kPipe>(kFlag);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void WaitInVector() {
        AscendC::CrossCoreWaitFlag<2, kPipe>(kFlag);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void SetByVector() {
        AscendC::CrossCoreSetFlag<2, kPipe>(kFlag);
    }
    template <pipe_t kPipe>
    __aicore__ static inline void WaitInCube() {
        AscendC::CrossCoreWaitFlag<2, kPipe>(kFlag);
    }
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
