// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// From rows of keys and values to panels, the products' right operand.
#pragma once

#include "engine/gemm-inl.h"
#include "engine/half-inl.h"

namespace acl_attn::engine {
namespace {

constexpr int kPiece = 8;  // 16-bit channels in a 128-bit quarter

inline int steps_of(int k, int depth) { return (k + depth - 1) / depth; }

// The key whose value comes first in the value panels' next step.
template <class Operand>
inline int next_first_key(int k) {
    if constexpr (Operand::kDepth == 1) {
        return k + 1;
    } else {
        constexpr int distance = Operand::kPairDistance;
        return (k + 1) % distance != 0 ? k + 1 : k + 1 + distance;
    }
}

// Of rows of 4 32-bit numbers, kLanes of them: quarter q of v[i] is row 4q + i, out[i] has numbers i of all.
inline void transpose_quarters(const vf v[4], vf out[4]) {
    const vf low01 = zip_low(v[0], v[1]), high01 = zip_high(v[0], v[1]);
    const vf low23 = zip_low(v[2], v[3]), high23 = zip_high(v[2], v[3]);
    out[0] = zip_low2(low01, low23);
    out[1] = zip_high2(low01, low23);
    out[2] = zip_low2(high01, high23);
    out[3] = zip_high2(high01, high23);
}

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
    transpose_quarters(v, out);
}

// A number as two bf16, in the upper halves; those of fp16 have it as their exact sum, and no second part of an fp16 is
// subnormal. An infinity or NaN is its own first part.
inline vu split_upper(vf x, vu* rest) {
    const vu upper = reinterpret_cast<vu>(x) & 0xffff0000u;
    const vi is_finite = (as_int(x) & 0x7f800000) != 0x7f800000;
    *rest = reinterpret_cast<vu>(x - reinterpret_cast<vf>(upper)) & reinterpret_cast<vu>(is_finite);
    return upper;
}

// Pairs of fp16 as two pairs of bf16.
inline vu split_pairs(F16, vf pairs, vu* rest) {
    vu low_rest, high_rest;
    const vu low = split_upper(widen_low(F16{}, pairs), &low_rest);
    const vu high = split_upper(widen_high(F16{}, pairs), &high_rest);
    *rest = (low_rest >> 16) | (high_rest & 0xffff0000u);
    return (low >> 16) | high;
}
inline vu split_pairs(BF16, vf pairs, vu*) { return reinterpret_cast<vu>(pairs); }

// Columns [column, column + kLanes) of a key panel ([steps][columns]) from as many key rows; and of the panel of the
// second parts, if there are any, that lies `part_size` behind. Elements beyond dim up to `steps` become 0.
template <class T, class Operand>
inline void pack_keys(const void* const* rows, int dim, float* panel, int column, int steps = 0,
                      ptrdiff_t part_size = 0) {
    constexpr int kColumns = Operand::kColumns;
    const uint16_t* keys[kLanes];  // a copy that stores to the panel cannot change, as far as the compiler knows
    for (int j = 0; j < kLanes; j++) keys[j] = static_cast<const uint16_t*>(rows[j]);
    constexpr bool is_moved = sizeof(typename T::Element) == sizeof(float) || Operand::kDepth == 2;
    dim *= static_cast<int>(sizeof(typename T::Element) / sizeof(uint16_t));
    for (int d = 0; d < dim; d += kPiece) {
        vf pairs[4];
        transpose_piece(keys, d, dim, pairs);
        for (int i = 0; i < 4 && d + 2 * i < dim; i++) {
            if constexpr (Operand::kParts == 2) {
                vu rest;
                float* to = panel + (d / 2 + i) * kColumns + column;
                store(to, split_pairs(T{}, pairs[i], &rest));
                store(to + part_size, rest);
            } else if constexpr (is_moved) {
                store(panel + (d / 2 + i) * kColumns + column, pairs[i]);
            } else {
                float* to = panel + (d + 2 * i) * kColumns + column;
                store(to, widen_low(T{}, pairs[i]));
                if (d + 2 * i + 1 < dim) store(to + kColumns, widen_high(T{}, pairs[i]));
            }
        }
    }
    if constexpr (Operand::kSteps > 1) {
        for (int part = 0; part < Operand::kParts; part++, panel += part_size) {
            for (int s = steps_of(dim, 2); s < steps; s++) store(panel + s * kColumns + column, vf{});
        }
    }
}

// Rows of the value panels ([panel][tile steps][columns]) from value rows [begin, end) of the tile, and of those of the
// second parts; columns beyond dim become 0. begin and end are multiples of kKeys.
template <class Operand, class T>
inline void pack_values(const void* const* values, int begin, int end, int dim, int panel_size, float* panels,
                        ptrdiff_t part_size = 0) {
    constexpr int kColumns = Operand::kColumns;
    for (int k = begin, step = begin / Operand::kDepth; k < end; step++) {
        float* to = panels + static_cast<ptrdiff_t>(step) * kColumns;
        for (int c0 = 0; c0 < dim; c0 += kColumns, to += panel_size) {
            const int stop = dim - c0 < kColumns ? dim - c0 : kColumns;
            for (int c = 0; c < (Operand::kSteps > 1 ? kColumns : stop); c += kLanes) {
                const typename T::Element* from = elements<T>(values[k]) + c0 + c;
                if constexpr (Operand::kDepth == 2) {
                    const vh first = load_part<vh>(from, stop - c);
                    const vh second =
                        load_part<vh>(elements<T>(values[k + Operand::kPairDistance]) + c0 + c, stop - c);
                    const vu pair = extend(first) | (extend(second) << 16);
                    if constexpr (Operand::kParts == 2) {
                        vu rest;
                        store(to + c, split_pairs(T{}, reinterpret_cast<vf>(pair), &rest));
                        store(to + part_size + c, rest);
                    } else {
                        store(to + c, pair);
                    }
                } else {
                    store(to + c, load_wide_part<T>(from, stop - c));
                }
            }
        }
        k = next_first_key<Operand>(k);
    }
}

}  // namespace
}  // namespace acl_attn::engine
