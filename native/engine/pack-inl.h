// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From rows of keys and values to panels of kNr columns, the micro-kernel's right operand.
#pragma once

#include "engine/gemm-inl.h"
#include "engine/half-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kPiece = 8;  // 16-bit channels in a 128-bit quarter

inline int steps_of(int k, int depth) { return (k + depth - 1) / depth; }

// Transposes 4 pairs of 16-bit channels, from channel d on, of kLanes keys: out[i] has channels d + 2i and d + 2i + 1
// of all. Or 4 fp32 numbers: each is as wide as a pair.
inline void transpose_piece(const uint16_t* const* keys, int d, int dim, vf out[4]) {
    vf v[4];
    if (d + kPiece <= dim) {
        for (int i = 0; i < 4; i++) v[i] = gather_quarters([&](int quarter) { return keys[4 * quarter + i] + d; });
    } else {
        uint16_t padded[kLanes][kPiece] = {};
        for (int j = 0; j < kLanes; j++) {
            __builtin_memcpy(padded[j], keys[j] + d, static_cast<size_t>(dim - d) * sizeof(uint16_t));
        }
        for (int i = 0; i < 4; i++) v[i] = gather_quarters([&](int quarter) { return padded[4 * quarter + i]; });
    }
    const vf low01 = zip_low(v[0], v[1]), high01 = zip_high(v[0], v[1]);
    const vf low23 = zip_low(v[2], v[3]), high23 = zip_high(v[2], v[3]);
    out[0] = zip_low2(low01, low23);
    out[1] = zip_high2(low01, low23);
    out[2] = zip_low2(high01, high23);
    out[3] = zip_high2(high01, high23);
}

// Columns [column, column + kLanes) of a key panel ([steps][kNr]) from as many key rows.
template <class T, class Operand>
inline void pack_keys(const void* const* rows, int dim, float* panel, int column) {
    const uint16_t* keys[kLanes];  // a copy that stores to the panel cannot change, as far as the compiler knows
    for (int j = 0; j < kLanes; j++) keys[j] = static_cast<const uint16_t*>(rows[j]);
    constexpr bool is_moved = sizeof(typename T::Element) == sizeof(float) || Operand::kDepth == 2;
    dim *= static_cast<int>(sizeof(typename T::Element) / sizeof(uint16_t));
    for (int d = 0; d < dim; d += kPiece) {
        vf pairs[4];
        transpose_piece(keys, d, dim, pairs);
        for (int i = 0; i < 4 && d + 2 * i < dim; i++) {
            if constexpr (is_moved) {
                store(panel + (d / 2 + i) * kNr + column, pairs[i]);
            } else {
                float* to = panel + (d + 2 * i) * kNr + column;
                store(to, widen_low(T{}, pairs[i]));
                if (d + 2 * i + 1 < dim) store(to + kNr, widen_high(T{}, pairs[i]));
            }
        }
    }
}

// Rows of the value panels ([panel][tile steps][kNr]) from value rows [begin, end) of the tile; columns beyond dim
// become 0. begin and end are multiples of kDepth.
template <class Operand, class T>
inline void pack_values(const void* const* values, int begin, int end, int dim, int panel_size, float* panels) {
    for (int k = begin; k < end; k += Operand::kDepth) {
        float* to = panels + static_cast<ptrdiff_t>(k / Operand::kDepth) * kNr;
        for (int c0 = 0; c0 < dim; c0 += kNr, to += panel_size) {
            const int stop = dim - c0 < kNr ? dim - c0 : kNr;
            for (int c = 0; c < stop; c += kLanes) {
                const typename T::Element* from = elements<T>(values[k]) + c0 + c;
                if constexpr (Operand::kDepth == 2) {
                    const vh first = load_part<vh>(from, stop - c);
                    const vh second = load_part<vh>(elements<T>(values[k + 1]) + c0 + c, stop - c);
                    const vu pair = extend(first) | (extend(second) << 16);
                    store(to + c, pair);
                } else {
                    store(to + c, load_wide_part<T>(from, stop - c));
                }
            }
        }
    }
}

}  // namespace
}  // namespace acl_attn::engine
