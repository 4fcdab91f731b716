// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Packed rows to bf16.
#pragma once

#include "engine/kernels.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

// Where the parts of a packed row lie, in bytes and channels (sparse.h).
constexpr int kPackedCodes = 128, kPackedScales = 576;
constexpr int kPackedScaled = 448, kPackedGroup = 64, kPackedPlain = 64;

// Scales from 2^-111 on leave no bits that bf16 lacks: the smallest code stands for 2^-22 (HIFLOAT8), and bf16's for
// 2^-133.
constexpr uint8_t kExactScale = 16;

template <class Code>
inline void unpack_row(const uint8_t* row, uint16_t* to) {
    for (int d = 0; d < kPackedScaled; d += kPackedGroup) {
        const uint8_t* scale_code = row + kPackedScales + d / kPackedGroup;
        const vf scale = splat(load_wide_part<E8M0>(scale_code, 1)[0]);
        const auto unpack = [&](auto narrowed) {
            for (int c = d; c < d + kPackedGroup; c += kLanes) {
                store(to + c, narrowed(load_wide<Code>(row + kPackedCodes + c) * scale));
            }
        };
        if (*scale_code >= kExactScale) {
            unpack([](vf x) { return truncate(reinterpret_cast<vu>(x) >> 16); });
        } else {
            unpack([](vf x) { return narrow(BF16{}, x); });
        }
    }
    __builtin_memcpy(to + kPackedScaled, row, sizeof(uint16_t) * kPackedPlain);
}

// Unpacks rows[0 .. count) into `memory`, one after another, and points to these instead.
inline void unpack_rows(Dtype codes, int count, const void** rows, uint16_t* memory) {
    for (int i = 0; i < count; i++, memory += kPackedScaled + kPackedPlain) {
        const uint8_t* row = static_cast<const uint8_t*>(rows[i]);
        codes == Dtype::hif8 ? unpack_row<HiFloat8>(row, memory) : unpack_row<E4M3>(row, memory);
        rows[i] = memory;
    }
}

}  // namespace
}  // namespace acl_attn::engine
