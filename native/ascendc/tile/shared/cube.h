// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the cube does alike on both architectures: GM to NZ tiles in L1, and products.
#pragma once

#if __NPU_ARCH__ == 2201
#include "ascendc/tile/arch2201/cube.h"
#else
#include "ascendc/tile/arch3510/cube.h"
#endif

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

// `rows` rows of `columns` elements, `ld` apart in GM, become rows `first` .. of an NZ tile with `rows_pad` rows. The
// last group of columns is filled with zeros; rows that nobody loads keep what was there.
template <class T>
__aicore__ inline void GmToL1Nz(const AscendC::LocalTensor<T>& tile, const AscendC::GlobalTensor<T>& from, int32_t rows,
                                int32_t columns, int64_t ld, int32_t first, int32_t rows_pad) {
    AscendC::Nd2NzParams copy;
    copy.ndNum = 1;
    copy.nValue = static_cast<uint16_t>(rows);
    copy.dValue = static_cast<uint16_t>(columns);
    copy.srcNdMatrixStride = 0;
    copy.dstNzC0Stride = static_cast<uint16_t>(rows_pad);
    copy.dstNzNStride = 1;
    copy.dstNzMatrixStride = 0;
    if (rows == 1 || ld > kMaxNdStride) {
        copy.nValue = 1;
        copy.srcDValue = static_cast<uint16_t>(columns);
        for (int32_t row = 0; row < rows; ++row) {
            AscendC::DataCopy(tile[(first + row) * kPerBlock<T>], from[row * ld], copy);
        }
        return;
    }
    copy.srcDValue = static_cast<decltype(copy.srcDValue)>(ld);
    AscendC::DataCopy(tile[first * kPerBlock<T>], from, copy);
}

// The same for a cache that keeps a block's columns in groups of 32 bytes, `group_stride` elements apart, the tokens of
// a group behind one another: NZ already but for the distance of its groups. Rows are 32 bytes apart.
template <class T>
__aicore__ inline void GroupsToL1Nz(const AscendC::LocalTensor<T>& tile, const AscendC::GlobalTensor<T>& from,
                                    int32_t rows, int32_t columns, int64_t group_stride, int32_t first,
                                    int32_t rows_pad) {
    AscendC::DataCopyParams copy;
    copy.blockCount = static_cast<uint16_t>(columns / kPerBlock<T>);
    copy.blockLen = static_cast<uint16_t>(rows);
    copy.srcGap = static_cast<uint16_t>(group_stride / kPerBlock<T> - rows);
    copy.dstGap = static_cast<uint16_t>(rows_pad - rows);
    AscendC::DataCopy(tile[first * kPerBlock<T>], from, copy);
}

// c = a * b, or c += a * b. Rows and columns that pad fractals have no defined content afterwards. One row alone would
// make the cube read A as a plain vector, so it computes 16 then.
template <class C, class T>
__aicore__ inline void MmadTile(const AscendC::LocalTensor<C>& c, const AscendC::LocalTensor<T>& a,
                                const AscendC::LocalTensor<T>& b, int32_t m, int32_t n, int32_t k, bool starts) {
    AscendC::MmadParams product;
    product.m = static_cast<uint16_t>(m == 1 ? kFractalRows : m);
    product.n = static_cast<uint16_t>(n);
    product.k = static_cast<uint16_t>(k);
    product.unitFlag = 0;
    product.cmatrixSource = false;
    product.cmatrixInitVal = starts;
    AscendC::Mmad(c, a, b, product);
    // The next one may add to the same tile; the hardware hides the distance only where tiles are large.
    const int32_t fractals = (RoundUp(m, kFractalRows) / kFractalRows) * (RoundUp(n, kFractalRows) / kFractalRows);
    if (fractals < 10) AscendC::PipeBarrier<PIPE_M>();
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
