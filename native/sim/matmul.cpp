// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/matmul.h"

#include <cstring>
#include <vector>

// Wider instruction sets where the processor has them; sums run in the same order in all of them. Sanitizers do not go
// together with functions that are chosen while the program is loaded.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ACL_ATTN_SIM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ACL_ATTN_SIM_CLONES
#endif

namespace acl_attn::sim {

namespace {

constexpr uint32_t kSide = 16;  // of a fractal of L0C

// Rows [row, row + count) of a column of fractals; a and b at their first k.
template <class Value>
inline __attribute__((always_inline)) void multiply_rows(const Product<Value>& product, uint32_t padded_m,
                                                         uint32_t padded_n, uint32_t row, uint32_t column) {
    constexpr uint32_t kRows = 8;  // accumulators that fit into the registers of AVX2 and more
    Value sums[kRows][kSide] = {};
    const Value* a = product.a + row;
    const Value* b = product.b + column;
    for (uint32_t k = 0; k < product.k; k++) {
        for (uint32_t i = 0; i < kRows; i++) {
            for (uint32_t j = 0; j < kSide; j++) sums[i][j] += a[i] * b[j];
        }
        a += padded_m;
        b += padded_n;
    }
    Value* out = product.c + (uint64_t{column} * padded_m + uint64_t{row} * kSide);
    for (uint32_t i = 0; i < kRows && row + i < product.m; i++) {
        for (uint32_t j = 0; j < kSide && column + j < product.n; j++) {
            Value& element = out[i * kSide + j];
            element = product.from_zero ? sums[i][j] : element + sums[i][j];
        }
    }
}

template <class Value>
inline __attribute__((always_inline)) void multiply_all(const Product<Value>& product) {
    const uint32_t padded_m = (product.m + kSide - 1) / kSide * kSide;
    const uint32_t padded_n = (product.n + kSide - 1) / kSide * kSide;
    for (uint32_t column = 0; column < padded_n; column += kSide) {
        for (uint32_t row = 0; row < padded_m; row += 8) multiply_rows(product, padded_m, padded_n, row, column);
    }
    if (!product.poison_padding) return;
    for (uint32_t column = 0; column < padded_n; column++) {
        for (uint32_t row = column < product.n ? product.m : 0; row < padded_m; row++) {
            Value* element = product.c + (uint64_t{column / kSide} * padded_m + row) * kSide + column % kSide;
            std::memset(element, 0xff, sizeof(Value));
        }
    }
}

ACL_ATTN_SIM_CLONES void multiply_floats(const Product<float>& product) { multiply_all(product); }
ACL_ATTN_SIM_CLONES void multiply_integers(const Product<int32_t>& product) { multiply_all(product); }

}  // namespace

void multiply(const Product<float>& product) { multiply_floats(product); }
void multiply(const Product<int32_t>& product) { multiply_integers(product); }

template <class Value>
Value* operand_scratch(int slot, uint64_t elements) {
    thread_local std::vector<Value> memory[2];
    if (memory[slot].size() < elements) memory[slot].resize(elements);
    return memory[slot].data();
}
template float* operand_scratch<float>(int slot, uint64_t elements);
template int32_t* operand_scratch<int32_t>(int slot, uint64_t elements);

}  // namespace acl_attn::sim
