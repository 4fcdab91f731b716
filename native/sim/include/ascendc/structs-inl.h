// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameter structs, with the vendor's field names, types and defaults, once for the simulator and for the type checks
// (native/tests/vendor_like). Included in the namespace that they are to be in, behind the enumerations, __aicore__ and
// detail::PadValue, the type of a filler. Kernels set fields by name: the vendor's constructors take them in another
// order than they are declared in, so there are none here, none may be relied on, and no struct is an aggregate.

// blockLen and gaps in 32 bytes; a gap is from the end of a block to the start of the next. 1 <= blockCount <= 4095.
struct DataCopyParams {
    __aicore__ DataCopyParams() {}
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
    __aicore__ DataCopyExtParams() {}
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

template <class T>
struct DataCopyPadExtParams {
    __aicore__ DataCopyPadExtParams() {}
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    detail::PadValue<T> paddingValue{};
};

struct Nd2NzParams {
    __aicore__ Nd2NzParams() {}
#if __NPU_ARCH__ == 3510
    using Columns = uint32_t;
    using Rows = uint64_t;
#else
    using Columns = uint16_t;
    using Rows = uint16_t;
#endif
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    Columns dValue = 0;
    Rows srcNdMatrixStride = 0;
    Rows srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    Columns dstNzMatrixStride = 0;
};

// The block strides start at 0 with the vendor too, which no Copy wants: set them.
struct CopyRepeatParams {
    __aicore__ CopyRepeatParams() {}
    uint16_t dstStride = 0;
    uint16_t srcStride = 0;
    uint16_t dstRepeatSize = 8;
    uint16_t srcRepeatSize = 8;
};

struct LoadData2DParams {
    __aicore__ LoadData2DParams() {}
    uint16_t startIndex = 0;
    uint16_t dstGap = 0;
    uint16_t srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;
};

struct LoadData2dTransposeParams {
    __aicore__ LoadData2dTransposeParams() {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint8_t addrMode = 0;
};

#if __NPU_ARCH__ == 3510  // the other generation has the struct, but no load that takes it works there
struct LoadData2DParamsV2 {
    __aicore__ LoadData2DParamsV2() {}
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
    __aicore__ MmadParams() {}
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
    __aicore__ InitConstValueParams() {}
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    T initValue{};
};

struct FixpipeConfig {
    CO2Layout format;
#if __NPU_ARCH__ == 3510
    bool isToUB;
    __aicore__ constexpr FixpipeConfig(CO2Layout layout) : format(layout), isToUB(false) {}
    __aicore__ constexpr FixpipeConfig(CO2Layout layout, bool to_ub) : format(layout), isToUB(to_ub) {}
#else
    __aicore__ constexpr FixpipeConfig(CO2Layout layout) : format(layout) {}
#endif
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

#if __NPU_ARCH__ == 2201
struct FixpipeParamsV220 {
    __aicore__ FixpipeParamsV220() {}
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
    __aicore__ Nz2NdParams() {}
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint32_t dstNdStride = 0;
};
struct Nz2DnParams {
    __aicore__ Nz2DnParams() {}
    uint16_t dnNum = 1;
    uint16_t srcNzMatrixStride = 0;
    uint32_t dstDnMatrixStride = 0;
    uint16_t srcNzC0Stride = 0;
};
template <CO2Layout format>
struct TransformParams {
    using PARAMS = uint8_t;
};
template <>
struct TransformParams<CO2Layout::ROW_MAJOR> {
    using PARAMS = Nz2NdParams;
};
template <>
struct TransformParams<CO2Layout::COLUMN_MAJOR> {
    using PARAMS = Nz2DnParams;
};
template <CO2Layout format = CO2Layout::ROW_MAJOR>
struct FixpipeParamsArch3510 {
    __aicore__ FixpipeParamsArch3510() {}
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
    typename TransformParams<format>::PARAMS params{};
    bool isChannelSplit = false;
};
#endif

struct UnaryRepeatParams {
    __aicore__ UnaryRepeatParams() {}
    uint16_t dstBlkStride = 1;
    uint16_t srcBlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t srcRepStride = 8;
};

struct BinaryRepeatParams {
    __aicore__ BinaryRepeatParams() {}
    uint8_t dstBlkStride = 1;
    uint8_t src0BlkStride = 1;
    uint8_t src1BlkStride = 1;
    uint8_t dstRepStride = 8;
    uint8_t src0RepStride = 8;
    uint8_t src1RepStride = 8;
};

struct BrcbRepeatParams {
    __aicore__ BrcbRepeatParams() {}
    uint16_t dstBlkStride = 1;
    uint16_t dstRepStride = 8;
};
