// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector instructions in their memory form, which both architectures have. Every wrapper ends with the barrier that
// 2201 needs between two vector instructions of which the second reads what the first wrote; 3510 orders them itself.
//
// A tile is fp32, its rows `ld` elements apart, ld and the columns a multiple of 64, at most 255 rows and 255 blocks a
// row. Statistics have an fp32 number a row, allocated for a multiple of 64 rows.
#pragma once

#include "ascendc/tile/chip.h"

namespace acl_attn::ascendc {
inline namespace ACL_ATTN_KERNEL_ARCH {

using FloatTile = AscendC::LocalTensor<float>;

constexpr float kMinusInfinity = -__builtin_huge_valf();
constexpr float kLowest = -3.402823466e+38f;

__aicore__ inline void VectorBarrier() {
#if __NPU_ARCH__ == 2201
    AscendC::PipeBarrier<PIPE_V>();
#endif
}

// --- Elementwise, `count` elements behind one another.

__aicore__ inline void VecAdd(const FloatTile& to, const FloatTile& a, const FloatTile& b, int32_t count) {
    AscendC::Add(to, a, b, count);
    VectorBarrier();
}

__aicore__ inline void VecSub(const FloatTile& to, const FloatTile& a, const FloatTile& b, int32_t count) {
    AscendC::Sub(to, a, b, count);
    VectorBarrier();
}

__aicore__ inline void VecMul(const FloatTile& to, const FloatTile& a, const FloatTile& b, int32_t count) {
    AscendC::Mul(to, a, b, count);
    VectorBarrier();
}

__aicore__ inline void VecMax(const FloatTile& to, const FloatTile& a, const FloatTile& b, int32_t count) {
    AscendC::Max(to, a, b, count);
    VectorBarrier();
}

__aicore__ inline void VecAdds(const FloatTile& to, const FloatTile& a, float number, int32_t count) {
    AscendC::Adds(to, a, number, count);
    VectorBarrier();
}

__aicore__ inline void VecMuls(const FloatTile& to, const FloatTile& a, float number, int32_t count) {
    AscendC::Muls(to, a, number, count);
    VectorBarrier();
}

__aicore__ inline void VecMaxs(const FloatTile& to, const FloatTile& a, float number, int32_t count) {
    AscendC::Maxs(to, a, number, count);
    VectorBarrier();
}

__aicore__ inline void VecMins(const FloatTile& to, const FloatTile& a, float number, int32_t count) {
    AscendC::Mins(to, a, number, count);
    VectorBarrier();
}

__aicore__ inline void VecExp(const FloatTile& to, const FloatTile& a, int32_t count) {
    AscendC::Exp(to, a, count);
    VectorBarrier();
}

__aicore__ inline void VecLn(const FloatTile& to, const FloatTile& a, int32_t count) {
    AscendC::Ln(to, a, count);
    VectorBarrier();
}

__aicore__ inline void VecSqrt(const FloatTile& to, const FloatTile& a, int32_t count) {
    AscendC::Sqrt(to, a, count);
    VectorBarrier();
}

__aicore__ inline void VecAbs(const FloatTile& to, const FloatTile& a, int32_t count) {
    AscendC::Abs(to, a, count);
    VectorBarrier();
}

template <class To, class From>
__aicore__ inline void VecCast(const AscendC::LocalTensor<To>& to, const AscendC::LocalTensor<From>& from,
                               AscendC::RoundMode mode, uint32_t count) {
    AscendC::Cast(to, from, mode, count);
    VectorBarrier();
}

// A bit for each element, packed; count * sizeof(T) is a multiple of 256.
template <class T>
__aicore__ inline void VecCompares(const AscendC::LocalTensor<uint8_t>& bits, const AscendC::LocalTensor<T>& a,
                                   T number, AscendC::CMPMODE mode, uint32_t count) {
    AscendC::Compares(bits, a, number, mode, count);
    VectorBarrier();
}

// first, first + 1, ...
__aicore__ inline void VecIndex(const FloatTile& to, float first, int32_t count) {
    AscendC::CreateVecIndex(to, first, static_cast<uint32_t>(count));
    VectorBarrier();
}

// --- By rows.

__aicore__ inline AscendC::BinaryRepeatParams BinaryStrides(int32_t to, int32_t left, int32_t right) {
    AscendC::BinaryRepeatParams strides;
    strides.dstBlkStride = 1;
    strides.src0BlkStride = 1;
    strides.src1BlkStride = 1;
    strides.dstRepStride = static_cast<uint8_t>(to);
    strides.src0RepStride = static_cast<uint8_t>(left);
    strides.src1RepStride = static_cast<uint8_t>(right);
    return strides;
}

__aicore__ inline void Fill(const FloatTile& to, float value, int32_t count) {
    AscendC::Duplicate(to, value, count);
    VectorBarrier();
}

// One number for each row: the largest of it (kMax), or the sum. `scratch`: rows * 64 elements.
template <bool kMax>
__aicore__ inline void FoldRows(const FloatTile& to, const FloatTile& tile, const FloatTile& scratch, int32_t rows,
                                int32_t columns, int32_t ld) {
    const int32_t row = ld / kFloatsPerBlock;
    FloatTile folded = tile;
    int32_t folded_row = row;
    for (int32_t c = kFloatsPerVector; c < columns; c += kFloatsPerVector) {
        const AscendC::BinaryRepeatParams strides = BinaryStrides(kFloatsPerBlock, folded_row, row);
        if constexpr (kMax) {
            AscendC::Max(scratch, folded, tile[c], static_cast<uint64_t>(kFloatsPerVector), static_cast<uint8_t>(rows),
                         strides);
        } else {
            AscendC::Add(scratch, folded, tile[c], static_cast<uint64_t>(kFloatsPerVector), static_cast<uint8_t>(rows),
                         strides);
        }
        VectorBarrier();
        folded = scratch;
        folded_row = kFloatsPerBlock;
    }
    if constexpr (kMax) {
        AscendC::WholeReduceMax<float>(to, folded, kFloatsPerVector, rows, 1, 1, folded_row,
                                       AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    } else {
        AscendC::WholeReduceSum<float>(to, folded, kFloatsPerVector, rows, 1, 1, folded_row);
    }
    VectorBarrier();
}

__aicore__ inline void RowMax(const FloatTile& to, const FloatTile& tile, const FloatTile& scratch, int32_t rows,
                              int32_t columns, int32_t ld) {
    FoldRows<true>(to, tile, scratch, rows, columns, ld);
}

__aicore__ inline void RowSum(const FloatTile& to, const FloatTile& tile, const FloatTile& scratch, int32_t rows,
                              int32_t columns, int32_t ld) {
    FoldRows<false>(to, tile, scratch, rows, columns, ld);
}

// A block of eight equal numbers for each row's number, as the operand of the row-wise instructions below: rows rounded
// up to 8, times 8 elements.
__aicore__ inline void RowBroadcast(const FloatTile& to, const FloatTile& numbers, int32_t rows) {
    AscendC::BrcbRepeatParams strides;
    strides.dstBlkStride = 1;
    strides.dstRepStride = kFloatsPerBlock;
    AscendC::Brcb(to, numbers, static_cast<uint8_t>(RoundUp(rows, kFloatsPerBlock) / kFloatsPerBlock), strides);
    VectorBarrier();
}

enum class RowOperation : uint8_t { subtract, multiply, divide };

// tile[row][c] = tile[row][c] (operation) the row's number, from RowBroadcast. `columns` need not be a multiple of 64.
template <RowOperation kOperation>
__aicore__ inline void ByRow(const FloatTile& tile, const FloatTile& broadcast, int32_t rows, int32_t columns,
                             int32_t ld) {
    const int32_t row = ld / kFloatsPerBlock;
    AscendC::BinaryRepeatParams strides = BinaryStrides(row, row, 1);
    strides.src1BlkStride = 0;  // the same block for the whole row
    for (int32_t c = 0; c < columns; c += kFloatsPerVector) {
        const uint64_t mask = static_cast<uint64_t>(Min(kFloatsPerVector, columns - c));
        const uint8_t repeat = static_cast<uint8_t>(rows);
        if constexpr (kOperation == RowOperation::subtract) {
            AscendC::Sub(tile[c], tile[c], broadcast, mask, repeat, strides);
        } else if constexpr (kOperation == RowOperation::multiply) {
            AscendC::Mul(tile[c], tile[c], broadcast, mask, repeat, strides);
        } else {
            AscendC::Div(tile[c], tile[c], broadcast, mask, repeat, strides);
        }
    }
    VectorBarrier();
}

// to[row][c] += from[row][c], of different row distances.
__aicore__ inline void AddTile(const FloatTile& to, const FloatTile& from, int32_t rows, int32_t columns, int32_t to_ld,
                               int32_t from_ld) {
    const int32_t row = to_ld / kFloatsPerBlock;
    const AscendC::BinaryRepeatParams strides = BinaryStrides(row, row, from_ld / kFloatsPerBlock);
    for (int32_t c = 0; c < columns; c += kFloatsPerVector) {
        AscendC::Add(to[c], to[c], from[c], static_cast<uint64_t>(Min(kFloatsPerVector, columns - c)),
                     static_cast<uint8_t>(rows), strides);
    }
    VectorBarrier();
}

// Of 64 columns, those whose bit is 1 become `value`. Without a barrier: of many, only the last needs one.
__aicore__ inline void FillLanes(const FloatTile& tile, float value, int32_t rows, uint64_t lanes, int32_t ld) {
    uint64_t mask[2] = {lanes, 0};
    AscendC::Duplicate(tile, value, mask, static_cast<uint8_t>(rows), 1, static_cast<uint8_t>(ld / kFloatsPerBlock));
}

// Columns begin .. end - 1 of `rows` rows become `value`. Any column: vectors are addressed whole, lanes chosen by
// mask. Without a barrier.
__aicore__ inline void FillColumns(const FloatTile& tile, float value, int32_t rows, int32_t begin, int32_t end,
                                   int32_t ld) {
    for (int32_t c = begin / kFloatsPerVector * kFloatsPerVector; c < end; c += kFloatsPerVector) {
        const int32_t first = Max(begin - c, 0);
        const int32_t count = Min(end - c, kFloatsPerVector) - first;
        const uint64_t ones = count == kFloatsPerVector ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
        FillLanes(tile[c], value, rows, ones << first, ld);
    }
}

// Elements whose bit is 0 become `value`. `count` is a multiple of 64.
__aicore__ inline void FillWhereZero(const FloatTile& tile, const AscendC::LocalTensor<uint8_t>& bits, float value,
                                     int32_t count) {
    AscendC::Select(tile, bits, tile, value, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, static_cast<uint32_t>(count));
    VectorBarrier();
}

// A row for each channel: tile[row][c] = tile[row][c] * numbers[c] (kMultiply), or plus it.
template <bool kMultiply>
__aicore__ inline void ByColumn(const FloatTile& tile, const FloatTile& numbers, int32_t rows, int32_t columns,
                                int32_t ld) {
    const int32_t row = ld / kFloatsPerBlock;
    const AscendC::BinaryRepeatParams strides = BinaryStrides(row, row, 0);
    for (int32_t c = 0; c < columns; c += kFloatsPerVector) {
        const uint64_t mask = static_cast<uint64_t>(Min(kFloatsPerVector, columns - c));
        if constexpr (kMultiply) {
            AscendC::Mul(tile[c], tile[c], numbers[c], mask, static_cast<uint8_t>(rows), strides);
        } else {
            AscendC::Add(tile[c], tile[c], numbers[c], mask, static_cast<uint8_t>(rows), strides);
        }
    }
    VectorBarrier();
}

}  // namespace ACL_ATTN_KERNEL_ARCH
}  // namespace acl_attn::ascendc
