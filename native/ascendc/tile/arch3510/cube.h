// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cube's copies on dav-3510: one load a tile, Fixpipe writes to both vector cores' UB.
#pragma once

#include "ascendc/tile/shared/memory.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

constexpr int64_t kMaxNdStride = int64_t{1} << 40;  // 64 bits: never the limit

// A template argument of Fixpipe, which must stand at namespace scope.
constexpr AscendC::FixpipeConfig kRowsToUb = {AscendC::CO2Layout::ROW_MAJOR, true};

// `rows` and `columns` of an NZ tile with `rows_pad` rows, from column `column` on, to fractals whose columns are
// `to_stride` fractals apart (kTranspose: whose rows are).
template <bool kTranspose, class T>
__aicore__ inline void L1ToL0(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile, int32_t rows,
                              int32_t column, int32_t columns, int32_t rows_pad, int32_t to_stride) {
    AscendC::LoadData2DParamsV2 load;
    load.mStartPosition = 0;
    load.kStartPosition = static_cast<uint32_t>(column / kPerBlock<T>);
    load.mStep = static_cast<uint16_t>(RoundUp(rows, kFractalRows) / kFractalRows);
    load.kStep = static_cast<uint16_t>(RoundUp(columns, kPerBlock<T>) / kPerBlock<T>);
    load.srcStride = rows_pad / kFractalRows;
    load.dstStride = static_cast<uint16_t>(to_stride);
    load.ifTranspose = kTranspose;
    AscendC::LoadData(to, tile, load);
}

// The left operand: rows 0 .. m - 1, columns k0 .. k0 + k - 1 of an NZ tile with `rows_pad` rows.
template <class T>
__aicore__ inline void L1ToL0A(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile, int32_t m,
                               int32_t k0, int32_t k, int32_t rows_pad) {
    L1ToL0<false>(to, tile, m, k0, k, rows_pad, RoundUp(m, kFractalRows) / kFractalRows);
}

// The right operand of A * B^T: B's rows 0 .. n - 1, columns k0 .. k0 + k - 1.
template <class T>
__aicore__ inline void L1ToL0B(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile, int32_t n,
                               int32_t k0, int32_t k, int32_t rows_pad) {
    L1ToL0<false>(to, tile, n, k0, k, rows_pad, RoundUp(n, kFractalRows) / kFractalRows);
}

// The right operand of A * B: B's rows 0 .. k - 1, columns n0 .. n0 + n - 1, each fractal transposed on the way, 8-bit
// ones in pairs of fractal rows.
template <class T>
__aicore__ inline void L1ToL0BTransposed(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& tile,
                                         int32_t k, int32_t n0, int32_t n, int32_t rows_pad) {
    const int32_t rows = sizeof(T) == 1 ? RoundUp(k, 2 * kFractalRows) : k;
    const int32_t columns = RoundUp(RoundUp(n, kTransposedColumns<T>), kFractalRows);
    L1ToL0<true>(to, tile, rows, n0, n, rows_pad, columns / kFractalRows);
}

// An L0C tile of RoundUp(m, 16) rows becomes row-major in UB, rows `ld` apart: of the same type, or halves of integers
// times `scale`. The first half of the rows (m rounded up to even) goes to vector core 0, the others to vector core 1,
// at the same address. Columns are rounded up to 32 bytes: what is written beyond n has no defined content.
template <class T, class From>
__aicore__ inline void L0cToUb(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<From>& from,
                               int32_t m, int32_t n, int32_t ld, float scale) {
    AscendC::FixpipeParamsArch3510<AscendC::CO2Layout::ROW_MAJOR> fix;
    fix.nSize = static_cast<uint16_t>(RoundUp(n, kPerBlock<T>));
    fix.mSize = static_cast<uint16_t>(RoundUp(m, kVectorCores));
    fix.srcStride = static_cast<uint16_t>(RoundUp(m, kFractalRows));
    fix.dstStride = static_cast<uint32_t>(ld);
    if constexpr (sizeof(T) == sizeof(From)) {
        fix.quantPre = QuantMode_t::NoQuant;
    } else {
        fix.quantPre = QuantMode_t::DEQF16;
        fix.deqScalar = BitsOf(scale);
    }
    fix.unitFlag = 0;
    fix.dualDstCtl = 1;
    fix.params.ndNum = 1;
    fix.params.srcNdStride = 0;
    fix.params.dstNdStride = 0;
    AscendC::Fixpipe<T, From, kRowsToUb>(to, from, fix);
}

// Rows 0 .. rows - 1 of an NZ tile in UB with `from_rows_pad` rows become rows first .. of one in L1 with `rows_pad`
// rows. Executed by a vector core.
template <class T>
__aicore__ inline void UbToL1(const AscendC::LocalTensor<T>& tile, const AscendC::LocalTensor<T>& from, int32_t rows,
                              int32_t columns, int32_t from_rows_pad, int32_t first, int32_t rows_pad) {
    AscendC::DataCopyParams copy;
    copy.blockCount = static_cast<uint16_t>(columns / kPerBlock<T>);
    copy.blockLen = static_cast<uint16_t>(rows);
    copy.srcGap = static_cast<uint16_t>(from_rows_pad - rows);
    copy.dstGap = static_cast<uint16_t>(rows_pad - rows);
    AscendC::DataCopy(tile[first * kPerBlock<T>], from, copy);
}

// The same from a tile whose rows lie behind one another. `columns` is a multiple of 32 bytes.
template <class T>
__aicore__ inline void UbRowsToL1(const AscendC::LocalTensor<T>& tile, const AscendC::LocalTensor<T>& from,
                                  int32_t rows, int32_t columns, int32_t first, int32_t rows_pad) {
    const int32_t groups = columns / kPerBlock<T>;
    AscendC::DataCopyParams copy;
    copy.blockCount = static_cast<uint16_t>(rows);
    copy.blockLen = 1;
    copy.srcGap = static_cast<uint16_t>(groups - 1);
    copy.dstGap = 0;
    for (int32_t group = 0; group < groups; ++group) {
        AscendC::DataCopy(tile[(group * rows_pad + first) * kPerBlock<T>], from[group * kPerBlock<T>], copy);
    }
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
