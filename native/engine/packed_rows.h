// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packing and unpacking many rows, which lie in a pool of blocks.
#pragma once

#include <cstdint>

#include "engine/kinds.h"
#include "formats/packed_row.h"

namespace acl_attn::engine {

// Row i of the numbers belongs to slot slots[i], or i without slots; -1: to none. Slot s lies at
//   pool + s / block_size * block_stride + s % block_size * layout.bytes.
// Every slot is in the pool, and none occurs twice where rows are written: the caller has checked. Strides in bytes.
struct PackedRows {
    formats::PackedRowLayout layout;
    Dtype codes;   // e4m3 or hif8
    Dtype dtype;   // of the numbers: f32, bf16 or f16
    int64_t count;
    int64_t stride;  // of the numbers' rows
    int64_t block_size, block_stride;
    const int64_t* slots;
};

// The number that the largest one of a tile is brought to, unless the caller says otherwise.
float packed_full_scale(Dtype codes);

// Both use the calling thread and the pool, and return when done. Numbers that no slot is for are set to 0 by unpack,
// and not looked at by pack, which returns the first row with a number that is not finite, or -1. Such rows are not
// written; others may be.
int64_t pack_rows(const PackedRows& rows, const void* from, float full_scale, void* pool) noexcept;
void unpack_rows(const PackedRows& rows, const void* pool, void* to) noexcept;

}  // namespace acl_attn::engine
