// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameter structs, with the vendor's field names, types and defaults. Kernels set fields by name: the vendor's
// constructors take them in another order than they are declared in, so there are none here, and none may be relied on.
#pragma once

#include <cstdint>

#include "ascendc/enums.h"
#include "ascendc/types.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {

// blockLen and gaps in 32 bytes; a gap is from the end of a block to the start of the next. 1 <= blockCount <= 4095.
struct DataCopyParams {
    DataCopyParams() {}
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;
    union {
        uint16_t srcGap = 0;
        uint16_t srcStride;
    };
    union {
        uint16_t dstGap = 0;
        uint16_t dstStride;
    };
};

// blockLen in bytes. The strides are gaps: bytes on the GM side, 32 bytes on the UB side.
struct DataCopyExtParams {
    DataCopyExtParams() {}
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
#if __NPU_ARCH__ == 3510
    int64_t srcStride = 0;
    int64_t dstStride = 0;
#else
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
#endif
    uint32_t rsv = 0;
};

namespace detail {
// The filler of floating-point types of 8 bits is given as its code.
template <class T>
using PadValue = std::conditional_t<sizeof(T) == 1 && !std::is_arithmetic_v<T>, uint8_t, T>;
}  // namespace detail

template <class T>
struct DataCopyPadExtParams {
    DataCopyPadExtParams() {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    detail::PadValue<T> paddingValue = 0;
};

struct Nd2NzParams {
    Nd2NzParams() {}
#if __NPU_ARCH__ == 3510
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    uint32_t dValue = 0;
    uint64_t srcNdMatrixStride = 0;
    uint64_t srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint32_t dstNzMatrixStride = 0;
#else
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 0;
    uint16_t srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint16_t dstNzMatrixStride = 0;
#endif
};

// The block strides start at 0 with the vendor too, which no Copy wants: set them.
struct CopyRepeatParams {
    CopyRepeatParams() {}
    uint16_t dstStride = 0;
    uint16_t srcStride = 0;
    uint16_t dstRepeatSize = 8;
    uint16_t srcRepeatSize = 8;
};

struct LoadData2DParams {
    LoadData2DParams() {}
    uint16_t startIndex = 0;
    uint16_t dstGap = 0;
    uint16_t srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;
};

struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint8_t addrMode = 0;
};

#if __NPU_ARCH__ == 3510
struct LoadData2DParamsV2 {
    LoadData2DParamsV2() {}
    uint32_t mStartPosition = 0;
    uint32_t kStartPosition = 0;
    uint16_t mStep = 0;
    uint16_t kStep = 0;
    int32_t srcStride = 0;
    uint16_t dstStride = 0;
    bool ifTranspose = false;
    uint8_t sid = 0;
};
#endif

// cmatrixInitVal: true starts from zero, which is the default.
struct MmadParams {
    MmadParams() {}
    uint16_t m = 0;
    uint16_t n = 0;
    uint16_t k = 0;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;
    bool cmatrixInitVal = true;
#if __NPU_ARCH__ == 3510
    bool disableGemv = false;
#endif
};

template <class T>
struct InitConstValueParams {
    InitConstValueParams() {}
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    T initValue = 0;
};

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };

struct FixpipeConfig {
    CO2Layout format;
#if __NPU_ARCH__ == 3510
    bool isToUB;
    constexpr FixpipeConfig(CO2Layout layout) : format(layout), isToUB(false) {}
    constexpr FixpipeConfig(CO2Layout layout, bool to_ub) : format(layout), isToUB(to_ub) {}
#else
    constexpr FixpipeConfig(CO2Layout layout) : format(layout) {}
#endif
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

#if __NPU_ARCH__ == 2201
struct FixpipeParamsV220 {
    FixpipeParamsV220() {}
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};
#else
struct Nz2NdParams {
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint32_t dstNdStride = 0;
};
struct Nz2DnParams {
    uint16_t dnNum = 1;
    uint16_t srcNzMatrixStride = 0;
    uint32_t dstDnMatrixStride = 0;
    uint16_t srcNzC0Stride = 0;
};
namespace detail {
template <CO2Layout format>
struct FixpipeExtra {
    using Type = uint8_t;
};
template <>
struct FixpipeExtra<CO2Layout::ROW_MAJOR> {
    using Type = Nz2NdParams;
};
template <>
struct FixpipeExtra<CO2Layout::COLUMN_MAJOR> {
    using Type = Nz2DnParams;
};
}  // namespace detail

template <CO2Layout layout = CO2Layout::ROW_MAJOR>
struct FixpipeParamsArch3510 {
    FixpipeParamsArch3510() {}
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    uint8_t dualDstCtl = 0;
    bool subBlockId = false;
    typename detail::FixpipeExtra<layout>::Type params = {};
    bool isChannelSplit = false;
};
#endif

struct UnaryRepeatParams {
    UnaryRepeatParams() {}
    uint16_t dstBlkStride = 1;
    uint16_t srcBlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t srcRepStride = 8;
};

struct BinaryRepeatParams {
    BinaryRepeatParams() {}
    uint8_t dstBlkStride = 1;
    uint8_t src0BlkStride = 1;
    uint8_t src1BlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t src0RepStride = 8;
    uint8_t src1RepStride = 8;
};

struct BrcbRepeatParams {
    BrcbRepeatParams() {}
    uint16_t dstBlkStride = 1;
    uint16_t dstRepStride = 8;
};

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
