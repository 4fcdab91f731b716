// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of decoded operands into a tile of L0C.
#pragma once

#include <cstdint>

namespace acl_attn::sim {

// c (column after column of 16 x 16 fractals) = a^T b, or c += a^T b. a is [k][m], b is [k][n], m and n padded to
// multiples of 16 with zeros. Sums run over k in ascending order.
template <class Value>
struct Product {
    const Value* a;
    const Value* b;
    Value* c;
    uint32_t m;
    uint32_t n;
    uint32_t k;
    bool from_zero;
    bool poison_padding;  // c beyond m and n becomes a bit pattern that shows if it is used
};

void multiply(const Product<float>& product);
void multiply(const Product<int32_t>& product);

// Memory of the calling thread that stays valid until the next call with the same slot. slot: 0 or 1.
template <class Value>
Value* operand_scratch(int slot, uint64_t elements);
extern template float* operand_scratch<float>(int slot, uint64_t elements);
extern template int32_t* operand_scratch<int32_t>(int slot, uint64_t elements);

// Cycles that the array takes for m1 x n1 x k1 fractals: 16 x 16 x 32 bytes in one, half of that for 32-bit elements.
constexpr uint64_t cube_cycles(uint64_t m1, uint64_t n1, uint64_t k1, uint32_t bits) {
    return m1 * n1 * k1 * (bits == 32 ? 2 : 1);
}

}  // namespace acl_attn::sim
