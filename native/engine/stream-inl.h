// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The products of decode: keys and values go through registers once, as dot products and scaled sums for all rows of
// the block, without packing. The work is bound by memory, so all arithmetic is fp32. Stored codes are taken as they
// are: to write them down as fp32 first took almost as long as the products.
#pragma once

#include "engine/gemm-inl.h"
#include "formats/codes-inl.h"

namespace acl_attn::engine {
namespace {

// Rows that the next tile will need. They are asked for while this one is computed, evenly over its work: memory must
// never be idle, and a burst of requests beyond what the core can keep open would stall it.
struct Upcoming {
    const void* const* rows = nullptr;
    int count = 0;  // 0: none
    int64_t offset = 0;
    int64_t begin = 0, end = 0;  // bytes

    __attribute__((always_inline)) void fetch(int k) const {
        constexpr int line = 64;
        if (k >= count) return;
        for (int64_t d = begin; d < end; d += line) prefetch_to_l2(static_cast<const char*>(rows[k]) + offset + d);
    }
};

// scores[r][k] = scale * query[r] . keys[k] for kRows rows and kLanes / kRows keys, of which `count` exist. `offset`
// bytes are added to the keys' addresses.
template <class T, int kRows>
__attribute__((noinline)) void dot_keys(const float* query, ptrdiff_t ldq, int dim, const void* const* keys,
                                        int64_t offset, int count, float scale, float* scores, ptrdiff_t lds) {
    constexpr int kKeys = kLanes / kRows;
    using Element = typename Row<T>::Element;
    const Element* key[kKeys];
#pragma GCC unroll 16
    for (int k = 0; k < kKeys; k++) {
        const char* row = static_cast<const char*>(keys[k < count ? k : count - 1]) + offset;
        key[k] = reinterpret_cast<const Element*>(row);
    }
    vf acc[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; i++) acc[i] = vf{};
    const auto step = [&](int d, auto load_key) __attribute__((always_inline)) {
        vf row[kRows];
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) row[r] = load<vf>(query + r * ldq + d);
#pragma GCC unroll 16
        for (int k = 0; k < kKeys; k++) {
            const vf x = load_key(Row<T>::at(key[k], d));
#pragma GCC unroll 4
            for (int r = 0; r < kRows; r++) acc[r * kKeys + k] = fma(row[r], x, acc[r * kKeys + k]);
        }
    };
    int d = 0;
#pragma GCC unroll 1
    for (; d + kLanes <= dim; d += kLanes) step(d, [](const Element* p) { return load_wide<T>(p); });
    if (d < dim) step(d, [&](const Element* p) { return load_wide_part<T>(p, dim - d); });
    const vf result = sums_of(acc) * splat(scale);
    if (count >= kKeys) {
        float lanes[kLanes];
        store(lanes, result);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) __builtin_memcpy(scores + r * lds, lanes + r * kKeys, sizeof(float) * kKeys);
        return;
    }
    for (int r = 0; r < kRows; r++) {
        for (int k = 0; k < count; k++) scores[r * lds + k] = result[r * kKeys + k];
    }
}

// out[r][c] = out[r][c] * rescale[r] + sum over k of probabilities[r][k] * values[k][c] for kRows rows and kUsed
// vectors of columns, the last of which may have fewer than kLanes elements (`tail`, 0: whole) in memory.
template <class T, int kRows, int kUsed>
__attribute__((noinline)) void add_scaled_values(const float* probabilities, ptrdiff_t ldp,
                                                 const void* const* values, int count, int column, int tail,
                                                 const float* rescale, float* out, ptrdiff_t ldo,
                                                 const Upcoming& upcoming) {
    vf acc[kRows][kUsed];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) acc[r][c] = load<vf>(out + r * ldo + c * kLanes) * splat(rescale[r]);
    }
    for (int k = 0; k < count; k++) {
        upcoming.fetch(k);
        const auto* value = Row<T>::at(static_cast<const typename Row<T>::Element*>(values[k]), column);
        vf x[kUsed];
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) {
            const auto* p = Row<T>::at(value, c * kLanes);
            x[c] = c + 1 == kUsed && tail != 0 ? load_wide_part<T>(p, tail) : load_wide<T>(p);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; r++) {
            const vf p = splat(probabilities[r * ldp + k]);
#pragma GCC unroll 4
            for (int c = 0; c < kUsed; c++) acc[r][c] = fma(p, x[c], acc[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r++) {
#pragma GCC unroll 4
        for (int c = 0; c < kUsed; c++) store(out + r * ldo + c * kLanes, acc[r][c]);
    }
}

// Calls body(first row, row count as a constant) for blocks of 4, 2 and 1 rows.
template <class Body>
inline void for_row_blocks(int rows, Body body) {
    int r = 0;
    for (; r + 4 <= rows; r += 4) body(r, Constant<4>{});
    for (; r + 2 <= rows; r += 2) body(r, Constant<2>{});
    for (; r < rows; r++) body(r, Constant<1>{});
}

}  // namespace
}  // namespace acl_attn::engine
