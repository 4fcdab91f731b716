// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows to bf16.
#pragma once

#include "engine/kernels.h"
#include "formats/packed_row-inl.h"

namespace acl_attn::engine {
namespace {

// Unpacks rows[0 .. count) into `memory`, `stride` numbers apart, and points to these instead. Rows up to `known` may
// be brought close.
inline void unpack_rows(Dtype codes, int count, int known, const void** rows, uint16_t* memory, ptrdiff_t stride) {
    constexpr formats::PackedRowLayout layout = formats::kPackedRow;
    constexpr int kBurst = 16;
    constexpr int kSoon = 3;  // rows from now: what unpacks one fills the processor's window
    for (int i = 0; i < count; i++, memory += stride) {
        const uint8_t* row = static_cast<const uint8_t*>(rows[i]);
        if (i % kBurst == 0) {
            for (int next = i + kBurst; next < i + 2 * kBurst && next < known; next++) prefetch_to_l2(rows[next]);
        }
        if (i + kSoon < known) {
            for (int byte = 64; byte < layout.used; byte += 64) {
                prefetch_to_l1(static_cast<const uint8_t*>(rows[i + kSoon]) + byte);
            }
        }
        if (codes == Dtype::hif8) {
            unpack_row<HiFloat8, BF16>(layout, row, memory);
        } else {
            unpack_row<E4M3, BF16>(layout, row, memory);
        }
        rows[i] = memory;
    }
}

}  // namespace
}  // namespace acl_attn::engine
