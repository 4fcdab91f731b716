// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows (formats/packed_row.h) become rows of 512 numbers.
#pragma once

#include "ascendc/sparse_attention/traits.h"
#include "ascendc/tile/shared/events.h"
#include "ascendc/tile/shared/widen.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// `count` (at most Traits::kGatherRows) packed rows in UB, Traits::kStoredBytes apart, become rows of Traits::kDim
// numbers behind one another at `to`: code * scale in fp32, rounded once; the rope numbers as they are. In a buffer that
// MTE2 has filled: MTE3 has waited for it, other pipes have not. Whatever the caller gives MTE3 to do next comes after
// all of it; MTE2 fills the buffer again after that. The scratch in UB may be used, in the order of the vector pipe.
template <class Traits>
__aicore__ inline void UnpackRows(const AscendC::GlobalTensor<typename Traits::Element>& to,
                                  const AscendC::LocalTensor<uint8_t>& rows, int32_t count);

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
