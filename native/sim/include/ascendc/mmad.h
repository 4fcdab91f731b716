// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix product, from fractals in L0A and L0B to a tile of L0C, which has column after column of 16 x 16 fractals.
#pragma once

#include "ascendc/l0.h"
#include "sim/matmul.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

template <class C, class A, class B>
constexpr bool is_product() {
    if constexpr (std::is_same_v<C, int32_t>) {
        return (std::is_same_v<A, int8_t> && std::is_same_v<B, int8_t>) ||
               (!kIs3510 && std::is_same_v<A, int4b_t> && std::is_same_v<B, int4b_t>);
    } else if constexpr (std::is_same_v<C, float>) {
#if __NPU_ARCH__ == 3510
        if (is_any_of<A, fp8_e4m3fn_t, fp8_e5m2_t>) return is_any_of<B, fp8_e4m3fn_t, fp8_e5m2_t>;
        if (std::is_same_v<A, hifloat8_t>) return std::is_same_v<B, hifloat8_t>;
#endif
        return std::is_same_v<A, B> && is_any_of<A, half, bfloat16_t, float>;
    } else {
        return false;
    }
}

template <class T>
inline auto cube_value(const uint8_t* block, uint32_t lane) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return static_cast<int32_t>(acl_attn::formats::decode_i4(acl_attn::formats::nibble_at(block, lane)));
    } else {
        T value;
        std::memcpy(&value, block + lane * sizeof(T), sizeof value);
        if constexpr (std::is_integral_v<T>) return static_cast<int32_t>(value);
        else return widen(value);
    }
}

// Where 32 bytes of row `row` and k column group `group` of an operand lie.
struct FractalOrder {
    uint64_t row_fractal_step;    // fractals from one group of 16 rows to the next
    uint64_t group_fractal_step;  // and from one column group to the next

    uint64_t at(uint32_t row, uint32_t group) const {
        return (row / kFractalRows * row_fractal_step + group * group_fractal_step) * kFractal +
               row % kFractalRows * 32;
    }
};

// [k][rows] of an operand, decoded, rows padded with zeros to a multiple of 16.
template <class T, class Value>
inline void decode_operand(const uint8_t* data, const FractalOrder& order, uint32_t rows, uint32_t depth, Value* out) {
    const uint32_t padded = (rows + 15) / 16 * 16;
    for (uint32_t k = 0; k < depth; k++) {
        for (uint32_t row = rows; row < padded; row++) out[uint64_t{k} * padded + row] = 0;
    }
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t k = 0; k < depth; k++) {
            const uint8_t* block = data + order.at(row, k / kBlockElements<T>);
            out[uint64_t{k} * padded + row] = cube_value<T>(block, k % kBlockElements<T>);
        }
    }
}

}  // namespace detail

// dst (m x n) = fm (m x k) * filter (k x n), added to dst unless cmatrixInitVal. What lies beyond m, n and k counts for
// nothing; dst beyond m and n becomes undefined.
template <class T, class U, class S>
inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                 const MmadParams& mmadParams) {
    static_assert(detail::is_product<T, U, S>(),
                  "Mmad: expected a triple of types that the cube of this chip multiplies");
    constexpr const char* kName = "Mmad";
    detail::Unit& unit = detail::Unit::current();
    const MmadParams params = mmadParams;
    constexpr uint32_t kC0 = detail::kBlockElements<U>;
    const uint32_t m1 = (params.m + 15u) / 16;
    const uint32_t n1 = (params.n + 15u) / 16;
    const uint32_t k1 =
        sizeof(U) == 4 && params.kDirectionAlign ? (params.k + 15u) / 16 * 2 : (params.k + kC0 - 1) / kC0;
    if (unit.checking()) {
        detail::require(unit.role() == acl_attn::sim::Role::cube, kName, "expected to run on a cube core");
        detail::require(dst.space() == detail::Space::l0c && fm.space() == detail::Space::l0a &&
                            filter.space() == detail::Space::l0b,
                        kName, "dst, fm, filter: expected L0C, L0A, L0B");
        detail::require(params.m <= 4095 && params.n <= 4095 && params.k <= 4095, kName,
                        "m, n, k: expected at most 4095");
        detail::require(dst.address() % 1024 == 0, kName, "dst: expected an address on 1024 bytes");
        detail::require(fm.address() % 512 == 0 && filter.address() % 512 == 0, kName,
                        "fm, filter: expected an address on 512 bytes");
        detail::require(params.unitFlag == 0 || params.unitFlag == 2 || params.unitFlag == 3, kName,
                        "unitFlag: expected 0, 2 or 3");
        detail::require(!params.cmatrixSource, kName, "cmatrixSource: expected false; the simulator has no bias");
#if __NPU_ARCH__ == 3510
        detail::require(params.m != 1 || params.disableGemv, kName,
                        "m: expected more than 1, got 1, which means a vector operand; use 16 or set disableGemv");
#else
        detail::require(params.m != 1, kName, "m: expected more than 1, got 1, which means a vector operand; use 16");
#endif
    }
    if (params.m == 0 || params.n == 0 || params.k == 0) return;
    acl_attn::sim::issue(
        unit, detail::Pipe::m, kName,
        [&](detail::Operation& operation) {
            operation.unit_flag = params.unitFlag;
            operation.work.macs = uint64_t{params.m} * params.n * params.k;
            operation.work.cube_cycles = acl_attn::sim::cube_cycles(m1, n1, k1, detail::bits_of<U>);
            operation.work.bytes = (uint64_t{m1} * k1 + uint64_t{n1} * k1) * detail::kFractal;
            detail::reads(operation, fm, {0, uint64_t{m1} * k1 * detail::kFractal});
            detail::reads(operation, filter, {0, uint64_t{n1} * k1 * detail::kFractal});
            const detail::Piece tile{0, uint64_t{m1} * n1 * 16 * 16 * sizeof(T)};
            if (!params.cmatrixInitVal) detail::reads(operation, dst, tile);
            detail::writes(operation, dst, tile);
        },
        [=] {
            using Value = std::conditional_t<std::is_same_v<T, int32_t>, int32_t, float>;
            const detail::FractalOrder left =
                detail::kIs3510 ? detail::FractalOrder{1, m1} : detail::FractalOrder{k1, 1};
            Value* a = acl_attn::sim::operand_scratch<Value>(0, uint64_t{params.k} * m1 * 16);
            Value* b = acl_attn::sim::operand_scratch<Value>(1, uint64_t{params.k} * n1 * 16);
            detail::decode_operand<U>(fm.data(), left, params.m, params.k, a);
            detail::decode_operand<S>(filter.data(), {1, n1}, params.n, params.k, b);
            acl_attn::sim::Product<Value> product;
            product.a = a;
            product.b = b;
            product.c = reinterpret_cast<Value*>(dst.data());
            product.m = params.m;
            product.n = params.n;
            product.k = params.k;
            product.from_zero = params.cmatrixInitVal;
            product.poison_padding = detail::Unit::current().checking();
            acl_attn::sim::multiply(product);
        });
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
