// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of packed rows lie: one-byte floats ("codes"), each tile of which shares a scale, and 64 bf16 numbers
// ("rope"). The numbers of a row are those of the codes, then rope.
#pragma once

#include <cstdint>

namespace acl_attn::formats {

constexpr int32_t kPackedRope = 64;  // numbers

enum class PackedScale : uint8_t {
    e8m0,
    bf16,
    f32,
};

// Offsets and sizes in bytes. From `used` on there is padding.
struct PackedRowLayout {
    int32_t bytes, rope, codes, scales, used;
    int32_t scaled;  // codes
    int32_t tile;    // codes that share a scale
    PackedScale scale;

};

// The rows of the packed attention operator, and the same with another kind of scale.
constexpr PackedRowLayout kPackedRow = {640, 0, 128, 576, 583, 448, 64, PackedScale::e8m0};
constexpr PackedRowLayout kPackedRowBf16Scales = {640, 0, 128, 576, 590, 448, 64, PackedScale::bf16};
// Rows of other operators and libraries.
constexpr PackedRowLayout kPackedRow608 = {608, 0, 128, 576, 590, 448, 64, PackedScale::bf16};
constexpr PackedRowLayout kPackedRow584 = {584, 448, 0, 576, 583, 448, 64, PackedScale::e8m0};
constexpr PackedRowLayout kPackedRow656 = {656, 528, 0, 512, 656, 512, 128, PackedScale::f32};

constexpr int32_t kMaxPackedTiles = 7;

}  // namespace acl_attn::formats
