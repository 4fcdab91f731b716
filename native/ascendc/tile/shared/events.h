// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Order between the pipes of one core. Between pipes only flags order things: one bit each, set and waited for in
// pairs.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// A ring of buffers that one pipe fills and another empties. `kReady` is the event from the first to the second,
// `kFree` back. Flags kFirst .. kFirst + kSlots - 1 of both kinds belong to the ring; above 5 they may be the
// library's.
template <AscendC::HardEvent kReady, AscendC::HardEvent kFree, int32_t kFirst, int32_t kSlots>
class EventRing {
    static_assert(kFirst >= 0 && kSlots >= 1 && kFirst + kSlots <= 6, "event ids 0 to 5 are ours");

public:
    __aicore__ inline void Prime() {
        for (int32_t i = 0; i < kSlots; ++i) AscendC::SetFlag<kFree>(kFirst + i);
    }
    __aicore__ inline void Drain() {
        for (int32_t i = 0; i < kSlots; ++i) AscendC::WaitFlag<kFree>(kFirst + i);
    }
    __aicore__ inline void WaitFree(int32_t slot) { AscendC::WaitFlag<kFree>(kFirst + slot); }
    __aicore__ inline void SetReady(int32_t slot) { AscendC::SetFlag<kReady>(kFirst + slot); }
    __aicore__ inline void WaitReady(int32_t slot) { AscendC::WaitFlag<kReady>(kFirst + slot); }
    __aicore__ inline void SetFree(int32_t slot) { AscendC::SetFlag<kFree>(kFirst + slot); }
};

// The second pipe of `kEvent` goes on when the first has done everything so far: for what happens once in a while.
template <AscendC::HardEvent kEvent, int32_t kId>
__aicore__ inline void Order() {
    static_assert(kId >= 0 && kId <= 5, "event ids 0 to 5 are ours");
    AscendC::SetFlag<kEvent>(kId);
    AscendC::WaitFlag<kEvent>(kId);
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
