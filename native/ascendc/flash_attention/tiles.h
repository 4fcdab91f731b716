// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The tile sizes that there are. The launch plans with them, the kernels are instantiated for them.
#pragma once

#include <cstdint>

namespace acl_attn::ascendc {

enum class TileSize : int32_t {
    narrow,  // up to 192 channels a key (rope included), 128 a value
    wide,    // up to 576 and 512
    latent,  // the same, values are the first channels of the keys
};
constexpr int32_t kTileSizes = 3;

constexpr int32_t kKeysOfStep = 128;

constexpr int32_t rows_of(TileSize size) { return size == TileSize::narrow ? 128 : 64; }
constexpr int32_t dim_of(TileSize size) { return size == TileSize::narrow ? 192 : 576; }
constexpr int32_t dim_v_of(TileSize size) { return size == TileSize::narrow ? 128 : 512; }
constexpr bool value_is_key(TileSize size) { return size == TileSize::latent; }

// GM that a core needs to hand tiles from the cube to vector cores and back: two slots of scores and products in fp32,
// of probabilities in 16 bits.
constexpr uint32_t core_bytes(TileSize size) {
    return 2u * static_cast<uint32_t>(rows_of(size)) *
           (static_cast<uint32_t>(kKeysOfStep) * 6u + static_cast<uint32_t>(dim_v_of(size)) * 4u);
}

}  // namespace acl_attn::ascendc
