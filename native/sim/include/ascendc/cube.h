// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// L1 to L0A and L0B, and the matrix product. Orders of fractals are the device's: L0A has row after row of fractals on
// dav-2201 and column after column on dav-3510; L0B and L0C have column after column. A fractal of L0B is the transpose
// of its piece of the right matrix: n slow, k fast.
#pragma once

#include "ascendc/tensor.h"
#include "sim/matmul.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

constexpr uint32_t kFractal = acl_attn::sim::kFractalBytes;
constexpr uint32_t kFractalRows = 16;

inline void check_l0_load(const char* name, Space dst, Space src) {
    require(src == Space::l1 && (dst == Space::l0a || dst == Space::l0b), name,
            "dst and src: expected L1 to L0A or L0B");
    require(Unit::current().role() == acl_attn::sim::Role::cube, name, "expected to run on a cube core");
}

// Bytes of one fractal, as [rows][32 bytes], transposed: element (r, c) of a square of b x b elements, where b is a
// block. Source fractals of the square follow each other.
template <class T>
inline void transpose_square(uint8_t* const* dst_fractals, const uint8_t* const* src_fractals) {
    constexpr uint32_t kSide = kBlockElements<T> > kFractalRows ? kBlockElements<T> : kFractalRows;
    for (uint32_t row = 0; row < kSide; row++) {
        for (uint32_t column = 0; column < kSide; column++) {
            const uint8_t* in = src_fractals[row / kFractalRows] + (row % kFractalRows) * 32 + column * sizeof(T);
            uint8_t* out = dst_fractals[column / kFractalRows] + (column % kFractalRows) * 32 + row * sizeof(T);
            std::memcpy(out, in, sizeof(T));
        }
    }
}

constexpr Path l0_path(Space dst) { return dst == Space::l0a ? Path::l1_to_l0a : Path::l1_to_l0b; }

}  // namespace detail

#if __NPU_ARCH__ == 2201
// Fractals startIndex, startIndex + srcStride, ... of src, `repeatTimes` of them; dstGap fractals are left out between
// two in dst.
template <class T>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& loadDataParams) {
    constexpr const char* kName = "LoadData(LoadData2DParams)";
    detail::Unit& unit = detail::Unit::current();
    const LoadData2DParams params = loadDataParams;
    if (unit.checking()) {
        detail::check_l0_load(kName, dst.space(), src.space());
        detail::require(params.repeatTimes >= 1, kName, "repeatTimes: expected 1 to 255");
        detail::require(dst.address() % detail::kFractal == 0, kName, "dst: expected an address on 512 bytes");
        detail::require(!params.ifTranspose || sizeof(T) == 2, kName,
                        "ifTranspose: expected 16-bit elements; use LoadDataWithTranspose for 8 bits");
        detail::require(params.addrMode == 0, kName, "addrMode: expected 0, ascending; the simulator has no other");
    }
    acl_attn::sim::issue(
        unit, detail::Pipe::mte1, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::l0_path(dst.space());
            operation.work.bytes = uint64_t{params.repeatTimes} * detail::kFractal;
            operation.work.bursts = params.repeatTimes;
            detail::reads(operation, src,
                          {uint64_t{params.startIndex} * detail::kFractal, detail::kFractal, params.repeatTimes,
                           int64_t{params.srcStride} * detail::kFractal});
            detail::writes(operation, dst,
                           {0, detail::kFractal, params.repeatTimes, (int64_t{params.dstGap} + 1) * detail::kFractal});
        },
        [=] {
            for (uint32_t i = 0; i < params.repeatTimes; i++) {
                const uint8_t* in =
                    src.data() + (uint64_t{params.startIndex} + uint64_t{i} * params.srcStride) * detail::kFractal;
                uint8_t* out = dst.data() + uint64_t{i} * (params.dstGap + 1u) * detail::kFractal;
                if constexpr (sizeof(T) == 2) {
                    if (params.ifTranspose) {
                        detail::transpose_square<T>(&out, &in);
                        continue;
                    }
                }
                std::memcpy(out, in, detail::kFractal);
            }
        });
}

// 8-bit elements: squares of 32 x 32, which are two fractals. startIndex and srcStride count squares; dstFracGap
// fractals are left out between the two of a square, dstGap between the first ones of two squares.
template <class T>
inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                  const LoadData2dTransposeParams& loadDataParams) {
    static_assert(detail::is_any_of<T, int8_t, uint8_t>,
                  "LoadDataWithTranspose: expected int8_t or uint8_t; the simulator has no other type");
    constexpr const char* kName = "LoadDataWithTranspose";
    constexpr uint64_t kSquare = 2 * detail::kFractal;
    detail::Unit& unit = detail::Unit::current();
    const LoadData2dTransposeParams params = loadDataParams;
    if (unit.checking()) {
        detail::check_l0_load(kName, dst.space(), src.space());
        detail::require(params.repeatTimes >= 1, kName, "repeatTimes: expected 1 to 255");
        detail::require(dst.address() % detail::kFractal == 0, kName, "dst: expected an address on 512 bytes");
    }
    const int64_t step = (int64_t{params.dstGap} + 1) * detail::kFractal;
    const int64_t half_step = (int64_t{params.dstFracGap} + 1) * detail::kFractal;
    acl_attn::sim::issue(
        unit, detail::Pipe::mte1, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::l0_path(dst.space());
            operation.work.bytes = params.repeatTimes * kSquare;
            operation.work.bursts = params.repeatTimes;
            detail::reads(operation, src,
                          {params.startIndex * kSquare, kSquare, params.repeatTimes,
                           static_cast<int64_t>(params.srcStride * kSquare)});
            detail::writes(operation, dst, {0, detail::kFractal, 2, half_step, params.repeatTimes, step});
        },
        [=] {
            for (uint32_t i = 0; i < params.repeatTimes; i++) {
                const uint8_t* in = src.data() + (params.startIndex + uint64_t{i} * params.srcStride) * kSquare;
                const uint8_t* inputs[2] = {in, in + detail::kFractal};
                uint8_t* outputs[2] = {dst.data() + i * step, dst.data() + i * step + half_step};
                detail::transpose_square<T>(outputs, inputs);
            }
        });
}
#else
// mStep x kStep fractals from (mStartPosition, kStartPosition); srcStride and dstStride are fractals between two
// columns. Transposed, rows of the source run along k of the destination.
template <class T>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParamsV2& loadDataParams) {
    constexpr const char* kName = "LoadData(LoadData2DParamsV2)";
    detail::Unit& unit = detail::Unit::current();
    const LoadData2DParamsV2 params = loadDataParams;
    constexpr uint32_t kSide = detail::kBlockElements<T>;
    if (unit.checking()) {
        detail::check_l0_load(kName, dst.space(), src.space());
        detail::require(params.mStep >= 1 && params.kStep >= 1, kName, "mStep, kStep: expected at least 1");
        detail::require(dst.address() % detail::kFractal == 0, kName, "dst: expected an address on 512 bytes");
        detail::require(params.srcStride >= 0, kName,
                        "srcStride: expected at least 0; the simulator has no negative ones");
        if (params.ifTranspose) {
            detail::require(kSide <= 16 || params.mStep % (kSide / 16) == 0, kName,
                            "mStep: expected a multiple of 2 for 8-bit and of 4 for 4-bit elements with ifTranspose");
            detail::require(kSide >= 16 || params.kStep % 2 == 0, kName,
                            "kStep: expected an even number for 32-bit elements with ifTranspose");
            detail::require(!detail::is_packed4<T>, kName, "ifTranspose: 4-bit elements are not supported yet");
        }
    }
    const uint64_t start = uint64_t{params.kStartPosition} * params.srcStride + params.mStartPosition;
    const uint64_t fractals = uint64_t{params.mStep} * params.kStep;
    acl_attn::sim::issue(
        unit, detail::Pipe::mte1, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::l0_path(dst.space());
            operation.work.bytes = fractals * detail::kFractal;
            operation.work.bursts = 1;
            detail::reads(operation, src,
                          {start * detail::kFractal, uint64_t{params.mStep} * detail::kFractal, params.kStep,
                           int64_t{params.srcStride} * detail::kFractal});
            // Columns of the destination: its k in units of 32 bytes.
            const uint64_t columns = params.ifTranspose ? params.mStep * 16u / kSide : params.kStep;
            detail::writes(
                operation, dst,
                {0, fractals / columns * detail::kFractal, columns, int64_t{params.dstStride} * detail::kFractal});
        },
        [=] {
            const uint8_t* in = src.data() + start * detail::kFractal;
            for (uint32_t j = 0; j < params.kStep; j++) {
                for (uint32_t i = 0; i < params.mStep; i++) {
                    const uint8_t* fractal = in + (uint64_t{j} * params.srcStride + i) * detail::kFractal;
                    if (!params.ifTranspose) {
                        std::memcpy(dst.data() + (uint64_t{j} * params.dstStride + i) * detail::kFractal, fractal,
                                    detail::kFractal);
                        continue;
                    }
                    for (uint32_t row = 0; row < 16; row++) {
                        for (uint32_t column = 0; column < kSide; column++) {
                            const uint32_t k = i * 16 + row;
                            const uint32_t n = j * kSide + column;
                            uint8_t* out = dst.data() +
                                           (uint64_t{k / kSide} * params.dstStride + n / 16) * detail::kFractal +
                                           (n % 16) * 32 + (k % kSide) * sizeof(T);
                            std::memcpy(out, fractal + row * 32 + column * sizeof(T), sizeof(T));
                        }
                    }
                }
            }
        });
}
#endif

// A constant into L1, L0A or L0B, dav-2201 only: repeatTimes pieces of blockNum units (32 bytes in L1, 512 in L0A and
// L0B), dstGap units left out between two.
#if __NPU_ARCH__ == 2201
template <class T, class U = T>
inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams) {
    static_assert(std::is_same_v<T, U>, "Fill: expected a value of the tensor's type");
    constexpr const char* kName = "Fill";
    detail::Unit& unit = detail::Unit::current();
    const InitConstValueParams<U> params = initConstValueParams;
    const bool l1 = dst.space() == detail::Space::l1;
    if (unit.checking()) {
        detail::require(unit.role() == acl_attn::sim::Role::cube &&
                            (l1 || dst.space() == detail::Space::l0a || dst.space() == detail::Space::l0b),
                        kName, "dst: expected L1, L0A or L0B, on a cube core");
        detail::require(params.repeatTimes <= 32767 && params.blockNum <= 32767 && params.dstGap <= 32767, kName,
                        "repeatTimes, blockNum, dstGap: expected at most 32767");
    }
    const uint64_t unit_bytes = l1 ? acl_attn::sim::kBlockBytes : detail::kFractal;
    const uint64_t bytes = params.blockNum * unit_bytes;
    const int64_t step = static_cast<int64_t>((uint64_t{params.blockNum} + params.dstGap) * unit_bytes);
    acl_attn::sim::issue(
        unit, l1 ? detail::Pipe::mte2 : detail::Pipe::mte1, kName,
        [&](detail::Operation& operation) {
            operation.work.path = detail::Path::fill;
            operation.work.bytes = params.repeatTimes * bytes;
            operation.work.bursts = params.repeatTimes;
            detail::writes(operation, dst, {0, bytes, params.repeatTimes, step});
        },
        [=] {
            for (uint32_t i = 0; i < params.repeatTimes; i++) {
                for (uint64_t at = 0; at < bytes; at += sizeof(T)) {
                    std::memcpy(dst.data() + i * step + at, &params.initValue, sizeof(T));
                }
            }
        });
}
#endif

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
