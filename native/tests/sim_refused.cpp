// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that the device's headers do not compile or that it does not compute, one per CASE. None of them may compile
// against the simulator's headers or the strict ones; CASE 0 must.
#include "kernel_operator.h"

using namespace AscendC;

__aicore__ void refused([[maybe_unused]] GlobalTensor<float> gm) {
    LocalTensor<float> f(TPosition::VECIN, 0, 256);
    LocalTensor<half> h(TPosition::VECIN, 4096, 256);
    LocalTensor<bfloat16_t> b(TPosition::VECIN, 8192, 256);
    LocalTensor<int32_t> i(TPosition::VECIN, 16384, 256);
    LocalTensor<half> a2(TPosition::A2, 0, 256);
    LocalTensor<bfloat16_t> b2(TPosition::B2, 0, 256);
    LocalTensor<float> c(TPosition::CO1, 0, 256);
    Add(f, f, f, 64);
#if CASE == 1  // types differ
    Add(f, f, h, 64);
#elif CASE == 2  // the scalar's type is not the tensor's
    Muls(f, f, 1.0, 64);
#elif CASE == 3  // f16 times bf16
    Mmad(c, a2, b2, MmadParams());
#elif CASE == 4  // no such conversion
    LocalTensor<int8_t> narrow(TPosition::VECIN, 32768, 256);
    Cast(f, narrow, RoundMode::CAST_NONE, 64);
#elif CASE == 5  // exp of integers
    Exp(i, i, 64);
#elif CASE == 6  // the filler's type is not the tensor's
    DataCopyPad(f, gm, DataCopyExtParams(), DataCopyPadExtParams<half>());
#elif CASE == 7  // GM to GM
    DataCopy(gm, gm, 64);
#elif CASE == 8  // the other chip's struct
#if __NPU_ARCH__ == 2201
    FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> params;
#else
    FixpipeParamsV220 params;
#endif
    Fixpipe<float, float, CFG_ROW_MAJOR>(gm, c, params);
#elif CASE == 9  // reductions of bf16
    WholeReduceMax<bfloat16_t>(b, b, 128, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
#elif CASE == 10  // mode 4 on dav-2201, mode 3 anywhere
    CrossCoreSetFlag<__NPU_ARCH__ == 2201 ? 4 : 3, PIPE_FIX>(0);
#elif CASE == 11  // bf16 arithmetic on dav-2201, 4-bit products on dav-3510
#if __NPU_ARCH__ == 2201
    Add(b, b, b, 64);
#else
    LocalTensor<int4b_t> p(TPosition::A2, 0, 256);
    LocalTensor<int4b_t> q(TPosition::B2, 0, 256);
    LocalTensor<int32_t> r(TPosition::CO1, 0, 256);
    Mmad(r, p, q, MmadParams());
#endif
#elif CASE == 12  // select by anything but bits
    Select(f, i, f, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
#elif CASE == 13  // a value of another size than the element's, which would be stored with its own
    f.SetValue(0, 1.0);
#elif CASE == 14  // unsigned numbers beside a scalar
    LocalTensor<uint32_t> u(TPosition::VECIN, 16384, 256);
    Adds(u, u, 1u, 64);
#elif CASE == 15  // the bits of a mask that cannot be written
    const uint64_t mask[2] = {0xff, 0};
    Add(f, f, f, mask, 1, BinaryRepeatParams());
#elif CASE == 16  // fractals of another chip: its second struct, or 4-bit ones
#if __NPU_ARCH__ == 2201
    LocalTensor<half> a1(TPosition::A1, 0, 256);
    LoadData(a2, a1, LoadData2DParamsV2());
#else
    LocalTensor<int4b_t> a1(TPosition::A1, 0, 256);
    LocalTensor<int4b_t> p(TPosition::A2, 0, 256);
    LoadData(p, a1, LoadData2DParams());
#endif
#elif CASE == 17  // a register's element type is not the memory's; 8-bit copies of a scalar
#if __NPU_ARCH__ == 2201
    LocalTensor<int8_t> narrow(TPosition::VECIN, 32768, 256);
    Duplicate(narrow, static_cast<int8_t>(1), 64);
#else
    Reg::RegTensor<half> reg;
    Reg::MaskReg all = Reg::CreateMask<half, Reg::MaskPattern::ALL>();
    Reg::StoreAlign(reinterpret_cast<__ubuf__ float*>(f.GetPhyAddr()), reg, all);
#endif
#elif CASE == 18  // a quantisation whose description is not in static storage
    constexpr FixpipeConfig config = {CO2Layout::ROW_MAJOR};
#if __NPU_ARCH__ == 2201
    Fixpipe<float, float, config>(gm, c, FixpipeParamsV220());
#else
    Fixpipe<float, float, config>(gm, c, FixpipeParamsArch3510<CO2Layout::ROW_MAJOR>());
#endif
#elif CASE == 19  // bits of a type that the masked form has no operation for
#if __NPU_ARCH__ == 2201
    And(i, i, i, 64, 1, BinaryRepeatParams());
#else
    LocalTensor<uint8_t> narrow(TPosition::VECIN, 32768, 256);
    And(narrow, narrow, narrow, 64, 1, BinaryRepeatParams());
#endif
#elif CASE == 20  // reductions of integers
    WholeReduceMax<int32_t>(i, i, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
#elif CASE == 21  // half bytes row by row
    GlobalTensor<int4b_t> packed;
    LocalTensor<int4b_t> codes(TPosition::VECIN, 32768, 256);
    DataCopyPad(codes, packed, DataCopyExtParams(), DataCopyPadExtParams<int4b_t>());
#elif CASE == 22  // ND to NZ of 64 bits; a register's shift by another type than int16_t
#if __NPU_ARCH__ == 2201
    GlobalTensor<int64_t> rows;
    LocalTensor<int64_t> tile(TPosition::A1, 0, 256);
    DataCopy(tile, rows, Nd2NzParams());
#else
    Reg::RegTensor<uint32_t> reg;
    Reg::MaskReg all = Reg::CreateMask<uint32_t, Reg::MaskPattern::ALL>();
    Reg::ShiftLefts(reg, reg, 1, all);
#endif
#elif CASE == 23  // registers' lanes that arithmetic leaves alone; a copy between types
#if __NPU_ARCH__ == 2201
    Copy(f, h, 64, 1, CopyRepeatParams());
#else
    Reg::RegTensor<float> reg;
    Reg::MaskReg all = Reg::CreateMask<float, Reg::MaskPattern::ALL>();
    Reg::Add<float, Reg::MaskMergeMode::MERGING>(reg, reg, reg, all);
#endif
#endif
}
