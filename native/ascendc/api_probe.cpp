// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Every call of the AscendC API that the kernels make, with every pair of types and every parameter field that they
// use, and nothing else: what a compiler has to accept before the kernels can be compiled. It computes nothing of use
// and is never launched. `[n.m]` is the section of the API notes (docs/develop/ascendc_kernels.rst) that documents the
// call; api_list.py reads these marks, and fails if a kernel uses a name that does not stand here.
#include "kernel_operator.h"

#include <cstdint>

#if __NPU_ARCH__ == 3510
constexpr AscendC::FixpipeConfig kProbeRowsToUb = {AscendC::CO2Layout::ROW_MAJOR, true};  // [6]
#endif

namespace {

// --- [3] tensors at fixed places
template <class T>
__aicore__ inline AscendC::LocalTensor<T> At(AscendC::TPosition position, uint32_t address) {
    AscendC::LocalTensor<T> tensor(position, address, 4096);  // [3] LocalTensor
    return tensor[16];
}

template <class T>
__aicore__ inline AscendC::GlobalTensor<T> Global(uint64_t address) {
    AscendC::GlobalTensor<T> tensor;  // [3] GlobalTensor
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor[16];
}

__aicore__ inline void ProbePositions() {
    At<half>(AscendC::TPosition::VECCALC, 0);  // [3] TPosition
    At<half>(AscendC::TPosition::A1, 0);
    At<half>(AscendC::TPosition::A2, 0);
    At<half>(AscendC::TPosition::B2, 0);
    At<float>(AscendC::TPosition::CO1, 0).template ReinterpretCast<int32_t>();
}

__aicore__ inline float ProbeScalars(uint64_t address) {
    AscendC::LocalTensor<float> numbers = At<float>(AscendC::TPosition::VECCALC, 0);
    numbers.SetValue(1, numbers.GetValue(0));
    int64_t sum = Global<int64_t>(address).GetValue(0) + Global<int32_t>(address).GetValue(0) +
                  Global<uint8_t>(address).GetValue(0);
    return static_cast<float>(sum) + Global<float>(address).GetValue(0) +
           static_cast<float>(Global<half>(address).GetValue(0)) +
           AscendC::ToFloat(Global<bfloat16_t>(address).GetValue(0));  // [7.2] ToFloat
}

// --- [4] copies
template <class T>
__aicore__ inline void ProbePad(uint64_t address) {
    AscendC::DataCopyExtParams copy;  // [4.3] DataCopyExtParams
    copy.blockCount = 1;
    copy.blockLen = 32;
    copy.srcStride = 0;
    copy.dstStride = 0;
    AscendC::DataCopyPadExtParams<T> pad;  // [4.3] DataCopyPadExtParams
    pad.isPad = false;
    AscendC::LocalTensor<T> local = At<T>(AscendC::TPosition::VECCALC, 0);
    AscendC::DataCopyPad(local, Global<T>(address), copy, pad);  // [4.3] DataCopyPad
    AscendC::DataCopyPad(Global<T>(address), local, copy);
}

template <class T>
__aicore__ inline void ProbeToL1(uint64_t address) {
    AscendC::Nd2NzParams rows;  // [4.2] Nd2NzParams
    rows.ndNum = 1;
    rows.nValue = 16;
    rows.dValue = 16;
    rows.srcNdMatrixStride = 0;
    rows.srcDValue = 16;
    rows.dstNzC0Stride = 16;
    rows.dstNzNStride = 1;
    rows.dstNzMatrixStride = 0;
    AscendC::LocalTensor<T> tile = At<T>(AscendC::TPosition::A1, 0);
    AscendC::DataCopy(tile, Global<T>(address), rows);  // [4.2] DataCopy
    AscendC::DataCopyParams groups;                      // [4.1] DataCopyParams
    groups.blockCount = 1;
    groups.blockLen = 1;
    groups.srcGap = 0;
    groups.dstGap = 0;
    AscendC::DataCopy(tile, Global<T>(address), groups);
#if __NPU_ARCH__ == 3510
    AscendC::DataCopy(tile, At<T>(AscendC::TPosition::VECCALC, 0), groups);  // UB to L1
#endif
}

// --- [5] cube, [6] Fixpipe
#if __NPU_ARCH__ == 2201
__aicore__ inline void ProbeSquares() {
    AscendC::LoadData2dTransposeParams load;  // [5.1] LoadData2dTransposeParams
    load.startIndex = 0;
    load.repeatTimes = 1;
    load.srcStride = 1;
    load.dstGap = 1;
    load.dstFracGap = 0;
    AscendC::LoadDataWithTranspose(At<int8_t>(AscendC::TPosition::B2, 0), At<int8_t>(AscendC::TPosition::A1, 0), load);
    // [5.1] LoadDataWithTranspose
}
#endif

// C: what products of T are, To: what they are handed over as.
template <class T, class C, class To = C>
__aicore__ inline void ProbeCube([[maybe_unused]] uint64_t address) {
    const AscendC::LocalTensor<T> tile = At<T>(AscendC::TPosition::A1, 0);
    const AscendC::LocalTensor<T> left = At<T>(AscendC::TPosition::A2, 0);
    const AscendC::LocalTensor<T> right = At<T>(AscendC::TPosition::B2, 0);
    const AscendC::LocalTensor<C> result = At<C>(AscendC::TPosition::CO1, 0);
#if __NPU_ARCH__ == 2201
    AscendC::LoadData2DParams load;  // [5.1] LoadData2DParams
    load.startIndex = 0;
    load.repeatTimes = 1;
    load.srcStride = 1;
    load.dstGap = 0;
    load.ifTranspose = sizeof(T) == 2;
#else
    AscendC::LoadData2DParamsV2 load;  // [5.1] LoadData2DParamsV2
    load.mStartPosition = 0;
    load.kStartPosition = 0;
    load.mStep = 1;
    load.kStep = 1;
    load.srcStride = 1;
    load.dstStride = 1;
    load.ifTranspose = true;
#endif
    AscendC::LoadData(left, tile, load);  // [5.1] LoadData
    AscendC::LoadData(right, tile, load);
    AscendC::MmadParams product;  // [5.2] MmadParams
    product.m = 16;
    product.n = 16;
    product.k = 16;
    product.unitFlag = 0;
    product.cmatrixSource = false;
    product.cmatrixInitVal = true;
    AscendC::Mmad(result, left, right, product);  // [5.2] Mmad
#if __NPU_ARCH__ == 2201
    AscendC::FixpipeParamsV220 fix;  // [6] FixpipeParamsV220
    fix.nSize = 16;
    fix.mSize = 16;
    fix.srcStride = 16;
    fix.dstStride = 16;
    fix.ndNum = 1;
    fix.srcNdStride = 0;
    fix.dstNdStride = 0;
    fix.quantPre = sizeof(To) < sizeof(C) ? QuantMode_t::DEQF16 : QuantMode_t::NoQuant;
    fix.deqScalar = 0;
    fix.unitFlag = 0;
    AscendC::Fixpipe<To, C, AscendC::CFG_ROW_MAJOR>(Global<To>(address), result, fix);
    // [6] Fixpipe CFG_ROW_MAJOR
#else
    AscendC::FixpipeParamsArch3510<AscendC::CO2Layout::ROW_MAJOR> fix;  // [6] FixpipeParamsArch3510 CO2Layout
    fix.nSize = 16;
    fix.mSize = 16;
    fix.srcStride = 16;
    fix.dstStride = 16;
    fix.quantPre = sizeof(To) < sizeof(C) ? QuantMode_t::DEQF16 : QuantMode_t::NoQuant;
    fix.deqScalar = 0;
    fix.unitFlag = 0;
    fix.dualDstCtl = 1;
    fix.params.ndNum = 1;
    fix.params.srcNdStride = 0;
    fix.params.dstNdStride = 0;
    const AscendC::LocalTensor<To> to = At<To>(AscendC::TPosition::VECCALC, 0);
    AscendC::Fixpipe<To, C, kProbeRowsToUb>(to, result, fix);  // [6] FixpipeConfig
#endif
}

// --- [7] vector
__aicore__ inline void ProbeArithmetic() {
    const AscendC::LocalTensor<float> a = At<float>(AscendC::TPosition::VECCALC, 0);
    const AscendC::LocalTensor<float> b = At<float>(AscendC::TPosition::VECCALC, 8192);
    const AscendC::LocalTensor<half> halves = At<half>(AscendC::TPosition::VECCALC, 32768);
    AscendC::BinaryRepeatParams strides;  // [7.1] BinaryRepeatParams
    strides.dstBlkStride = 1;
    strides.src0BlkStride = 1;
    strides.src1BlkStride = 0;
    strides.dstRepStride = 8;
    strides.src0RepStride = 8;
    strides.src1RepStride = 1;
    const uint64_t lanes = 64;
    const uint8_t repeat = 1;
    AscendC::Add(a, a, b, 64);  // [7.2] Add
    AscendC::Add(a, a, b, lanes, repeat, strides);
    AscendC::Sub(a, a, b, 64);  // [7.2] Sub
    AscendC::Sub(a, a, b, lanes, repeat, strides);
    AscendC::Mul(a, a, b, 64);  // [7.2] Mul
    AscendC::Mul(a, a, b, lanes, repeat, strides);
    AscendC::Max(a, a, b, 64);  // [7.2] Max
    AscendC::Max(a, a, b, lanes, repeat, strides);
    AscendC::Div(a, a, b, lanes, repeat, strides);  // [7.2] Div
    AscendC::Adds(a, b, 1.0f, 64);                  // [7.2] Adds
    AscendC::Muls(a, b, 1.0f, 64);                  // [7.2] Muls
    AscendC::Maxs(a, b, 1.0f, 64);                  // [7.2] Maxs
    AscendC::Mins(a, b, 1.0f, 64);                  // [7.2] Mins
    AscendC::Muls(halves, halves, static_cast<half>(1.0f), 64);
    AscendC::Maxs(halves, halves, static_cast<half>(1.0f), 64);
    AscendC::Mins(halves, halves, static_cast<half>(1.0f), 64);
    AscendC::Exp(a, b, 64);                         // [7.2] Exp
    AscendC::Ln(a, b, 64);                          // [7.2] Ln
    AscendC::Sqrt(a, b, 64);                        // [7.2] Sqrt
    AscendC::Abs(a, b, 64);                         // [7.2] Abs
    AscendC::Duplicate(a, 0.0f, 64);                // [7.2] Duplicate
    uint64_t mask[2] = {1, 0};
    AscendC::Duplicate(a, 0.0f, mask, repeat, 1, 8);
    AscendC::CreateVecIndex(a, 0.0f, static_cast<uint32_t>(64));  // [7.2] CreateVecIndex
    AscendC::BrcbRepeatParams blocks;                              // [7.2] BrcbRepeatParams
    blocks.dstBlkStride = 1;
    blocks.dstRepStride = 8;
    AscendC::Brcb(a, b, repeat, blocks);  // [7.2] Brcb
    const AscendC::ReduceOrder order = AscendC::ReduceOrder::ORDER_ONLY_VALUE;  // [7.3] ReduceOrder
    AscendC::WholeReduceMax<float>(a, b, 64, 1, 1, 1, 8, order);                // [7.3] WholeReduceMax
    AscendC::WholeReduceSum<float>(a, b, 64, 1, 1, 1, 8);                       // [7.3] WholeReduceSum
    const AscendC::LocalTensor<uint8_t> bits = At<uint8_t>(AscendC::TPosition::VECCALC, 16384);
    AscendC::Compares(bits, a, 0.5f, AscendC::CMPMODE::GT, static_cast<uint32_t>(64));  // [7.2] Compares CMPMODE
    AscendC::Compares(bits, halves, static_cast<half>(0.0f), AscendC::CMPMODE::EQ, static_cast<uint32_t>(128));
    const AscendC::SELMODE mode = AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE;  // [7.2] SELMODE
    AscendC::Select(a, bits, a, 0.0f, mode, static_cast<uint32_t>(64));       // [7.2] Select
}

template <class To, class From>
__aicore__ inline void ProbeCast(AscendC::RoundMode mode) {  // [7.2] RoundMode
    AscendC::Cast(At<To>(AscendC::TPosition::VECCALC, 0), At<From>(AscendC::TPosition::VECCALC, 16384), mode,
                  static_cast<uint32_t>(64));  // [7.2] Cast
}

__aicore__ inline void ProbeCasts() {
    const AscendC::RoundMode exact = AscendC::RoundMode::CAST_NONE;
    const AscendC::RoundMode nearest = AscendC::RoundMode::CAST_RINT;
    ProbeCast<half, float>(nearest);
    ProbeCast<half, float>(exact);
    ProbeCast<bfloat16_t, float>(nearest);
    ProbeCast<float, half>(exact);
    ProbeCast<float, bfloat16_t>(exact);
    ProbeCast<int32_t, float>(nearest);
    ProbeCast<float, int32_t>(nearest);
    ProbeCast<int8_t, half>(nearest);
    ProbeCast<half, int8_t>(exact);
    ProbeCast<half, uint8_t>(exact);
    ProbeCast<half, AscendC::int4b_t>(exact);  // [7.2] int4b_t
#if __NPU_ARCH__ == 3510
    ProbeCast<float, fp8_e4m3fn_t>(exact);
    ProbeCast<fp8_e4m3fn_t, float>(nearest);
    ProbeCast<half, hifloat8_t>(exact);
    ProbeCast<hifloat8_t, float>(AscendC::RoundMode::CAST_ROUND);
    ProbeCast<bfloat16_t, fp4x2_e2m1_t>(exact);
#endif
}

// --- [8] vector, register form
#if __NPU_ARCH__ == 3510
constexpr AscendC::Reg::CastTrait kProbeEven = {AscendC::Reg::RegLayout::ZERO, AscendC::Reg::SatMode::NO_SAT,
                                                AscendC::Reg::MaskMergeMode::ZEROING,
                                                AscendC::RoundMode::CAST_RINT};  // [8] Reg::CastTrait
constexpr AscendC::Reg::CastTrait kProbeOdd = {AscendC::Reg::RegLayout::ONE, AscendC::Reg::SatMode::NO_SAT,
                                               AscendC::Reg::MaskMergeMode::ZEROING,
                                               AscendC::RoundMode::CAST_RINT};
// [8] Reg::RegLayout Reg::SatMode Reg::MaskMergeMode

template <class T>
__simd_vf__ inline void ProbeFunction(__ubuf__ T* narrow_numbers, __ubuf__ float* numbers, uint16_t rows,
                                      uint32_t stride) {
    AscendC::Reg::RegTensor<float> a;  // [8] Reg::RegTensor
    AscendC::Reg::RegTensor<float> b;
    AscendC::Reg::RegTensor<T> narrow;
    AscendC::Reg::RegTensor<T> other;
    uint32_t left = rows;
    AscendC::Reg::MaskReg some = AscendC::Reg::UpdateMask<float>(left);  // [8] Reg::UpdateMask
    AscendC::Reg::MaskReg all = AscendC::Reg::CreateMask<T, AscendC::Reg::MaskPattern::ALL>();
    // [8] Reg::CreateMask
    AscendC::Reg::MaskReg wide = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::ALL>();
    // [8] Reg::MaskPattern Reg::MaskReg
    for (uint16_t row = 0; row < rows; ++row) {
        AscendC::Reg::LoadAlign<float>(a, numbers);  // [8] Reg::LoadAlign
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_DINTLV_B32>(a, b, numbers);  // [8] Reg::LoadDist
        AscendC::Reg::LoadAlign<float, AscendC::Reg::LoadDist::DIST_BRC_B32>(b, numbers + row);
        AscendC::Reg::Max(a, a, b, wide);      // [8] Reg::Max
        AscendC::Reg::Add(a, a, b, some);      // [8] Reg::Add
        AscendC::Reg::Mul(a, a, b, some);      // [8] Reg::Mul
        AscendC::Reg::Muls(a, a, 1.0f, some);  // [8] Reg::Muls
        AscendC::Reg::Maxs(a, a, 1.0f, some);  // [8] Reg::Maxs
        AscendC::Reg::ExpSub(a, a, b, some);   // [8] Reg::ExpSub
        AscendC::Reg::Reduce<AscendC::Reg::ReduceType::MAX>(b, a, wide);  // [8] Reg::Reduce
        AscendC::Reg::Reduce<AscendC::Reg::ReduceType::SUM>(b, a, wide);  // [8] Reg::ReduceType
        AscendC::Reg::Cast<T, float, kProbeEven>(narrow, a, wide);        // [8] Reg::Cast
        AscendC::Reg::Cast<T, float, kProbeOdd>(other, a, wide);
        AscendC::Reg::Or((AscendC::Reg::RegTensor<uint16_t>&)narrow, (AscendC::Reg::RegTensor<uint16_t>&)narrow,
                         (AscendC::Reg::RegTensor<uint16_t>&)other, all);  // [8] Reg::Or
        AscendC::Reg::StoreAlign<T, AscendC::Reg::DataCopyMode::DATA_BLOCK_COPY>(narrow_numbers, narrow, stride,
                                                                                  all);  // [8] Reg::DataCopyMode
        AscendC::Reg::StoreAlign<float>(numbers, a, some);                                // [8] Reg::StoreAlign
        AscendC::Reg::StoreAlign<float, AscendC::Reg::StoreDist::DIST_FIRST_ELEMENT_B32>(numbers + row, b,
                                                                                         wide);  // [8] Reg::StoreDist
    }
    AscendC::Reg::LocalMemBar<AscendC::Reg::MemType::VEC_STORE, AscendC::Reg::MemType::VEC_LOAD>();
    // [8] Reg::LocalMemBar Reg::MemType
}

constexpr AscendC::Reg::CastTrait kProbeWiden = {AscendC::Reg::RegLayout::ZERO, AscendC::Reg::SatMode::UNKNOWN,
                                                 AscendC::Reg::MaskMergeMode::ZEROING, AscendC::RoundMode::UNKNOWN};

template <class Code>
__simd_vf__ inline void ProbeCodes(__ubuf__ bfloat16_t* numbers, __ubuf__ Code* codes, __ubuf__ uint8_t* bytes) {
    AscendC::Reg::RegTensor<Code> code;
    AscendC::Reg::RegTensor<uint8_t> byte;
    AscendC::Reg::RegTensor<uint32_t> a;
    AscendC::Reg::RegTensor<uint32_t> b;
    AscendC::Reg::RegTensor<float> wide;
    AscendC::Reg::RegTensor<bfloat16_t> narrow;
    AscendC::Reg::MaskReg some;
    AscendC::Reg::MaskReg all = AscendC::Reg::CreateMask<float, AscendC::Reg::MaskPattern::ALL>();
    AscendC::Reg::MaskReg half_of_it = AscendC::Reg::CreateMask<bfloat16_t, AscendC::Reg::MaskPattern::VL64>();
    AscendC::Reg::Duplicate(b, static_cast<uint32_t>(1));  // [8] Reg::Duplicate
    AscendC::Reg::LoadAlign<uint8_t, AscendC::Reg::LoadDist::DIST_UNPACK4_B8>(byte, bytes);
    AscendC::Reg::ShiftLefts(a, (AscendC::Reg::RegTensor<uint32_t>&)byte, static_cast<int16_t>(23), all);
    // [8] Reg::ShiftLefts
    AscendC::Reg::Max(a, a, b, all);
    AscendC::Reg::Compares<uint32_t, AscendC::CMPMODE::LT>(some, a, static_cast<uint32_t>(1), all);
    // [8] Reg::Compares
    AscendC::Reg::Select(a, a, b, some);  // [8] Reg::Select
    AscendC::Reg::LoadAlign<Code, AscendC::Reg::LoadDist::DIST_UNPACK4_B8>(code, codes);
    AscendC::Reg::Cast<float, Code, kProbeWiden>(wide, code, all);
    AscendC::Reg::Mul(wide, wide, (AscendC::Reg::RegTensor<float>&)a, all);
    AscendC::Reg::Cast<bfloat16_t, float, kProbeEven>(narrow, wide, all);
    AscendC::Reg::StoreAlign<bfloat16_t, AscendC::Reg::StoreDist::DIST_PACK_B32>(numbers, narrow, all);
    AscendC::Reg::LoadAlign<bfloat16_t>(narrow, numbers);
    AscendC::Reg::StoreAlign<bfloat16_t>(numbers, narrow, half_of_it);
}

template <class Code>
__aicore__ inline void ProbeUnpacking() {
    const AscendC::LocalTensor<Code> codes = At<Code>(AscendC::TPosition::VECCALC, 16384);
    asc_vf_call<ProbeCodes<Code>>((__ubuf__ bfloat16_t*)At<bfloat16_t>(AscendC::TPosition::VECCALC, 0).GetPhyAddr(),
                                  (__ubuf__ Code*)codes.GetPhyAddr(), (__ubuf__ uint8_t*)codes.GetPhyAddr());
}

template <class T>
__aicore__ inline void ProbeRegisters() {
    asc_vf_call<ProbeFunction<T>>((__ubuf__ T*)At<T>(AscendC::TPosition::VECCALC, 0).GetPhyAddr(),
                                  (__ubuf__ float*)At<float>(AscendC::TPosition::VECCALC, 16384).GetPhyAddr(),
                                  static_cast<uint16_t>(1), static_cast<uint32_t>(64));  // [8] asc_vf_call
}
#endif

// --- [9] order
template <AscendC::HardEvent kEvent>
__aicore__ inline void ProbeEvent() {
    AscendC::SetFlag<kEvent>(0);   // [9.1] SetFlag
    AscendC::WaitFlag<kEvent>(0);  // [9.1] WaitFlag
}

__aicore__ inline void ProbeEvents() {
    ProbeEvent<AscendC::HardEvent::MTE2_MTE1>();  // [9.1] HardEvent
    ProbeEvent<AscendC::HardEvent::MTE1_MTE2>();
    ProbeEvent<AscendC::HardEvent::MTE1_M>();
    ProbeEvent<AscendC::HardEvent::M_MTE1>();
    ProbeEvent<AscendC::HardEvent::M_FIX>();
    ProbeEvent<AscendC::HardEvent::FIX_M>();
    ProbeEvent<AscendC::HardEvent::MTE2_V>();
    ProbeEvent<AscendC::HardEvent::V_MTE2>();
    ProbeEvent<AscendC::HardEvent::V_MTE3>();
    ProbeEvent<AscendC::HardEvent::MTE3_V>();
    ProbeEvent<AscendC::HardEvent::MTE2_MTE3>();
    ProbeEvent<AscendC::HardEvent::MTE3_MTE2>();
    ProbeEvent<AscendC::HardEvent::MTE2_S>();
    ProbeEvent<AscendC::HardEvent::S_MTE2>();
    ProbeEvent<AscendC::HardEvent::V_S>();
    ProbeEvent<AscendC::HardEvent::S_V>();
    AscendC::PipeBarrier<PIPE_V>();  // [9.1] PipeBarrier
    AscendC::PipeBarrier<PIPE_M>();
    AscendC::PipeBarrier<PIPE_ALL>();
}

template <uint8_t kMode>
__aicore__ inline void ProbeCores() {
    AscendC::CrossCoreSetFlag<kMode, PIPE_FIX>(0);   // [9.2] CrossCoreSetFlag
    AscendC::CrossCoreWaitFlag<kMode, PIPE_MTE2>(0); // [9.2] CrossCoreWaitFlag
    AscendC::CrossCoreSetFlag<kMode, PIPE_MTE3>(1);
    AscendC::CrossCoreWaitFlag<kMode, PIPE_MTE1>(1);
    AscendC::CrossCoreWaitFlag<kMode, PIPE_V>(1);
}

}  // namespace

// --- [10] entry and system
extern "C" __global__ __mix__(1, 2) void acl_attn_api_probe(uint64_t address) {
    AscendC::InitSocState();                                                      // [3] InitSocState
    const int64_t core = AscendC::GetBlockIdx() / AscendC::GetTaskRatio();        // [10] GetBlockIdx GetTaskRatio
    address += static_cast<uint64_t>(core + AscendC::GetBlockNum());              // [10] GetBlockNum
    if ASCEND_IS_AIC {
        ProbeToL1<half>(address);
        ProbeToL1<bfloat16_t>(address);
        ProbeToL1<int8_t>(address);
        ProbeCube<half, float>(address);
        ProbeCube<bfloat16_t, float>(address);
        ProbeCube<int8_t, int32_t>(address);
        ProbeCube<int8_t, int32_t, half>(address);
#if __NPU_ARCH__ == 2201
        ProbeSquares();
#else
        ProbeToL1<fp8_e4m3fn_t>(address);
        ProbeToL1<hifloat8_t>(address);
        ProbeCube<fp8_e4m3fn_t, float>(address);
        ProbeCube<hifloat8_t, float>(address);
#endif
    }
    if ASCEND_IS_AIV {
        address += static_cast<uint64_t>(AscendC::GetSubBlockIdx());  // [10] GetSubBlockIdx
        ProbePositions();
        ProbeScalars(address);
        ProbePad<float>(address);
        ProbePad<half>(address);
        ProbePad<bfloat16_t>(address);
        ProbePad<uint8_t>(address);
        ProbePad<int8_t>(address);
#if __NPU_ARCH__ == 3510
        ProbePad<fp8_e4m3fn_t>(address);
        ProbePad<hifloat8_t>(address);
#endif
        ProbeArithmetic();
        ProbeCasts();
#if __NPU_ARCH__ == 3510
        ProbeRegisters<half>();
        ProbeRegisters<bfloat16_t>();
        ProbeUnpacking<fp8_e4m3fn_t>();
        ProbeUnpacking<hifloat8_t>();
#endif
    }
    ProbeEvents();
#if __NPU_ARCH__ == 2201
    ProbeCores<2>();
#else
    ProbeCores<4>();
#endif
    AscendC::SyncAll<false>();  // [9.3] SyncAll
}
