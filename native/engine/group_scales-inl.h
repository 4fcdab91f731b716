// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Scales that are powers of two, one for each token and group of kScaleGroup channels, of codes that products take as
// they are: on their way to exponents of something else, as codes of E8M0.
#pragma once

#include "engine/exceptional-inl.h"
#include "engine/scales-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kScaleGroup = 32;  // as group_scale_bytes and takes_codes have it

inline int groups_of(int dim) { return (dim + kScaleGroup - 1) / kScaleGroup; }

// Those of one tile's keys and of all heads.
class GroupScales {
public:
    // `memory`: Scratch::key_scales or value_scales.
    GroupScales(const ScaleView& view, int64_t, int dim, void* memory)
        : v_(view), dim_(dim), codes_(static_cast<uint8_t*>(memory)) {}

    // Of a head's keys first_key + [0, count), as keys [begin, begin + count) of the tile. Those far from 1 are
    // replaced by 1: numbers that a row does not see are to be finite. True if there are any; then classes[k] is kHuge
    // for the keys that have one, and rows that see such a key need other products.
    bool read(int head, int64_t first_key, int begin, int count, uint8_t* classes) const {
        const uint8_t* from = reinterpret_cast<const uint8_t*>(v_.base) + head * v_.head_stride +
                              first_key * v_.token_stride;
        const int groups = groups_of(dim_), bytes = count * groups;
        uint8_t* to = codes_ + head * group_scale_bytes(dim_) + begin * groups;
        Bytes any_far = {};
        bool is_last_far = false;
        int i = 0;
        for (; i + kBytes <= bytes; i += kBytes) {
            const Bytes codes = load<Bytes>(from + i);
            prefetch_to_l1(from + bytes + i);  // the next tile's
            const Bytes far = reinterpret_cast<Bytes>(codes - kLeast > Bytes{} + uint8_t{kMost - kLeast});
            store(to + i, (codes & ~far) | (far & kOne));
            any_far |= far;
        }
        for (; i < bytes; i++) {
            to[i] = is_far(from[i]) ? kOne : from[i];
            is_last_far |= is_far(from[i]);
        }
        __builtin_memset(to + bytes, 0, kPadding);
        if (!is_last_far && !any(reinterpret_cast<vi>(any_far))) return false;
        for (int k = 0; k < count; k++, from += groups) {
            classes[k] = kOrdinary;
            for (int g = 0; g < groups; g++) {
                if (is_far(from[g])) classes[k] = kHuge;
            }
        }
        return true;
    }

private:
    typedef uint8_t Bytes __attribute__((vector_size(kLanes * 4)));
    static constexpr int kBytes = kLanes * 4;
    // So far from the ends of bf16 that neither numbers nor their products with parts of others overflow or vanish.
    static constexpr uint8_t kOne = 127, kLeast = kOne - 100, kMost = kOne + 100;
    static bool is_far(uint8_t code) { return code < kLeast || code > kMost; }
    static constexpr int kPadding = 4;  // what is read of the last key's in whole words

    const ScaleView& v_;
    const int dim_;
    uint8_t* const codes_;
};

// The scale codes of a head's tile, that of key k's first group at k * groups_of(dim).
inline const uint8_t* scale_codes(const float* memory, int head, int dim) {
    return reinterpret_cast<const uint8_t*>(memory) + head * group_scale_bytes(dim);
}

}  // namespace
}  // namespace acl_attn::engine
