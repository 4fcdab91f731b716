// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cube's copies on dav-2201: L0A is a row of fractal rows (zZ), Fixpipe writes to GM.
#pragma once

#include "ascendc/tile/shared/memory.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

constexpr int64_t kMaxNdStride = 65535;  // rows further apart go one at a time: Nd2NzParams has 16 bits for it

// The left operand: rows 0 .. m - 1, columns k0 .. k0 + k - 1 of an NZ tile with `rows_pad` rows.
template <class T>
__aicore__ inline void L1ToL0A(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile, int32_t m,
                               int32_t k0, int32_t k, int32_t rows_pad) {
    const int32_t c0 = kPerBlock<T>;
    const int32_t columns = RoundUp(k, c0) / c0;
    AscendC::LoadData2DParams load;
    load.repeatTimes = static_cast<uint8_t>(columns);
    load.srcStride = static_cast<uint16_t>(rows_pad / kFractalRows);
    load.dstGap = 0;
    load.ifTranspose = false;
    for (int32_t m1 = 0; m1 < RoundUp(m, kFractalRows) / kFractalRows; ++m1) {
        load.startIndex = static_cast<uint16_t>(m1);
        AscendC::LoadData(to[m1 * columns * kFractalRows * c0], tile[k0 * rows_pad], load);
    }
}

// The right operand of A * B^T: B's rows 0 .. n - 1, columns k0 .. k0 + k - 1. NZ of B is zN of B^T: nothing is
// transposed.
template <class T>
__aicore__ inline void L1ToL0B(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile, int32_t n,
                               int32_t k0, int32_t k, int32_t rows_pad) {
    const int32_t c0 = kPerBlock<T>;
    const int32_t groups = RoundUp(n, kFractalRows) / kFractalRows;
    AscendC::LoadData2DParams load;
    load.startIndex = 0;
    load.repeatTimes = static_cast<uint8_t>(groups);
    load.srcStride = 1;
    load.dstGap = 0;
    load.ifTranspose = false;
    for (int32_t k1 = 0; k1 < RoundUp(k, c0) / c0; ++k1) {
        AscendC::LoadData(to[k1 * groups * kFractalRows * c0], tile[k0 * rows_pad + k1 * c0 * rows_pad], load);
    }
}

// 8 bits: squares of 32 x 32, of two fractals each. `rows_pad` is a multiple of 32.
__aicore__ inline void LoadSquaresTransposed(const AscendC::LocalTensor<int8_t>& to,
                                             const AscendC::LocalTensor<int8_t>& tile, int32_t k, int32_t n0,
                                             int32_t n, int32_t rows_pad) {
    constexpr int32_t kSide = 32;
    const int32_t columns = RoundUp(n, kSide) / kSide;
    AscendC::LoadData2dTransposeParams load;
    load.repeatTimes = static_cast<uint8_t>(columns);
    load.srcStride = static_cast<uint16_t>(rows_pad / kSide);
    load.dstGap = 1;  // the square's second fractal
    load.dstFracGap = 0;
    for (int32_t k1 = 0; k1 < RoundUp(k, kSide) / kSide; ++k1) {
        load.startIndex = static_cast<uint16_t>(k1);
        AscendC::LoadDataWithTranspose(to[k1 * columns * kSide * kSide], tile[n0 * rows_pad], load);
    }
}

// The right operand of A * B: B's rows 0 .. k - 1, columns n0 .. n0 + n - 1, each fractal transposed on the way.
template <class T>
__aicore__ inline void L1ToL0BTransposed(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile,
                                         int32_t k, int32_t n0, int32_t n, int32_t rows_pad) {
    if constexpr (sizeof(T) == 1) {
        LoadSquaresTransposed(to, tile, k, n0, n, rows_pad);
    } else {
        const int32_t groups = RoundUp(n, kFractalRows) / kFractalRows;
        AscendC::LoadData2DParams load;
        load.repeatTimes = static_cast<uint8_t>(groups);
        load.srcStride = static_cast<uint16_t>(rows_pad / kFractalRows);
        load.dstGap = 0;
        load.ifTranspose = true;
        for (int32_t k1 = 0; k1 < RoundUp(k, kFractalRows) / kFractalRows; ++k1) {
            load.startIndex = static_cast<uint16_t>(k1);
            AscendC::LoadData(to[k1 * groups * kFractalRows * kFractalRows], tile[n0 * rows_pad], load);
        }
    }
}

// An L0C tile of RoundUp(m, 16) rows becomes row-major, rows `ld` apart. T: float or int32_t.
template <class T>
__aicore__ inline void L0cToGm(const AscendC::GlobalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                               int32_t m, int32_t n, int32_t ld) {
    AscendC::FixpipeParamsV220 fix;
    fix.nSize = static_cast<uint16_t>(n);
    fix.mSize = static_cast<uint16_t>(m);
    fix.srcStride = static_cast<uint16_t>(RoundUp(m, kFractalRows));
    fix.dstStride = static_cast<uint32_t>(ld);
    fix.ndNum = 1;
    fix.srcNdStride = 0;
    fix.dstNdStride = 0;
    fix.quantPre = QuantMode_t::NoQuant;
    fix.unitFlag = 0;
    AscendC::Fixpipe<T, T, AscendC::CFG_ROW_MAJOR>(to, from, fix);
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
