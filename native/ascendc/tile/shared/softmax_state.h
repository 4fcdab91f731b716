// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ascendc/tile/shared/memory.h"
#include "ascendc/tile/shared/vector.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// What a softmax over several tiles keeps of up to 64 rows, and what it needs for one tile.
struct SoftmaxState {
    FloatTile largest;    // of all scores so far; the lowest finite number before the first
    FloatTile sum;        // of exp(score - largest)
    FloatTile alpha;      // of a tile: what earlier products are worth under the new maximum
    FloatTile fresh;      // of a tile
    FloatTile broadcast;  // room for a block of 32 bytes a row
    FloatTile scratch;    // room for 64 numbers a row
};

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
