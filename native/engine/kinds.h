// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The enumerations that the engine's contract and its kernels share.
#pragma once

#include <cstdint>

namespace acl_attn::engine {

// i4 and f4_e2m1 are packed two to a byte, the even element in the low nibble; offsets and strides count elements.
enum class Dtype : uint8_t { f16, bf16, f32, i8, i4, f8_e4m3, hif8, f4_e2m1, e8m0 };
constexpr int kStoredDtypes = static_cast<int>(Dtype::f4_e2m1) + 1;

// What is added to a scaled score.
enum class BiasKind : uint8_t {
    none,
    tensor,      // an element of a tensor of the query's dtype
    slope,       // -slope[head] * |j - i + bias_distance|
    slope_sqrt,  // -slope[head] * sqrt(|j - i + bias_distance|)
};

// Static, not inline: kernels of different instruction sets include this.
static constexpr int bits_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f32: return 32;
        case Dtype::f16:
        case Dtype::bf16: return 16;
        case Dtype::i4:
        case Dtype::f4_e2m1: return 4;
        case Dtype::i8:
        case Dtype::f8_e4m3:
        case Dtype::hif8:
        case Dtype::e8m0: return 8;
    }
    return 0;
}

// Of an even number of elements, where two share a byte.
static constexpr int64_t bytes_of(Dtype dtype, int64_t elements) { return elements * bits_of(dtype) / 8; }

}  // namespace acl_attn::engine
