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
    shared,  // 512 channels, which are key and value: sparse attention's
};
constexpr int32_t kTileSizes = 4;

constexpr int32_t kKeysOfStep = 128;

constexpr int32_t rows_of(TileSize size) { return size == TileSize::narrow ? 128 : 64; }
constexpr int32_t dim_of(TileSize size) {
    return size == TileSize::narrow ? 192 : size == TileSize::shared ? 512 : 576;
}
constexpr int32_t dim_v_of(TileSize size) { return size == TileSize::narrow ? 128 : 512; }
constexpr bool value_is_key(TileSize size) { return size == TileSize::latent || size == TileSize::shared; }

// Steps that are under way at the same time: one whose keys are prepared, one whose scores are computed, one whose
// products are.
constexpr int32_t kStepsAlive = 3;

// GM that a core needs to hand tiles from one kind of core to the other: two slots of scores and products in fp32 and
// of probabilities in 16 bits; a slot of keys and values in 16 bits for each step alive where they are stored
// otherwise.
constexpr uint32_t core_bytes(TileSize size, bool dequantises) {
    const uint32_t rows = static_cast<uint32_t>(rows_of(size));
    const uint32_t keys = static_cast<uint32_t>(kKeysOfStep);
    const uint32_t dim = static_cast<uint32_t>(dim_of(size));
    const uint32_t dim_v = static_cast<uint32_t>(dim_v_of(size));
    const uint32_t tiles = 2u * rows * (keys * 6u + dim_v * 4u);
    return tiles + (dequantises ? static_cast<uint32_t>(kStepsAlive) * keys * (dim + dim_v) * 2u : 0u);
}

}  // namespace acl_attn::ascendc
