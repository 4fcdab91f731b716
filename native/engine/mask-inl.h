// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Most rows of most mask tensors hide all or none of a tile's keys.
#pragma once

#include <cstdint>

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

// What was found in bytes of a mask.
struct MaskBytes {
    bool any_hidden = false, any_shown = false;

    bool are_mixed() const { return any_hidden && any_shown; }

    void add(const uint8_t* mask, int count) {
        vb hidden = {}, shown = {};
        int i = 0;
        for (; i + kLanes <= count; i += kLanes) {
            const vb bytes = load<vb>(mask + i);
            hidden |= bytes;
            shown |= reinterpret_cast<vb>(bytes == 0);
        }
        any_hidden |= has_bits(hidden);
        any_shown |= has_bits(shown);
        for (; i < count; i++) (mask[i] != 0 ? any_hidden : any_shown) = true;
    }

private:
    static bool has_bits(vb bytes) {
        uint32_t words[kLanes / 4], any = 0;
        static_assert(kLanes % 4 == 0, "whole words");
        store(words, bytes);
        for (const uint32_t word : words) any |= word;
        return any != 0;
    }
};

}  // namespace
}  // namespace acl_attn::engine
