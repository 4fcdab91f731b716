// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// L1 to L0A and L0B, and constants into them. Orders of fractals are the device's: L0A has row after row of fractals on
// dav-2201 and column after column on dav-3510; L0B has column after column. A fractal of L0B is the transpose of its
// piece of the right matrix: n slow, k fast.
#pragma once

#include "ascendc/tensor.h"

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
    static_assert(sizeof(T) <= 4, "LoadData: expected elements of at most 32 bits");
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
    static_assert(detail::is_any_of<T, half, bfloat16_t, float, int8_t, uint8_t, int32_t, uint32_t, fp8_e4m3fn_t,
                                    fp8_e5m2_t, hifloat8_t, fp4x2_e2m1_t>,
                  "LoadData: expected a type that this chip loads");
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

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
