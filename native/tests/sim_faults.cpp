// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Planted faults in what operations are given: places in memory, parameters, operands of the cube core.
#include <memory>

#include "sim_faults_support.h"

namespace {

using namespace sim_test;

void test_places() {
    vector_pair("end of UB", "bytes of UB, got byte",
                [](bool fault) { fill(in_ub<float>(fault ? 262144 : 0, 64), 64); });
    vector_pair("alignment of UB", "expected a multiple of 32 in UB, got 16",
                [](bool fault) { fill(in_ub<float>(fault ? 16 : 0, 64), 64); });
    cube_pair("alignment of L0A", "expected a multiple of 512 in L0A", [](bool fault) {
        LocalTensor<half> tensor(TPosition::A2, fault ? 256 : 512, 256);
        (void)tensor;
    });
    vector_pair("end of a tensor", "expected an end within the 256 bytes of the tensor, got byte 260",
                [](bool fault) { fill(in_ub<float>(0, 64), fault ? 65 : 64); });
    vector_pair("offset into a tensor", "offset: expected at most the 64 elements",
                [](bool fault) { (void)in_ub<float>(0, 64)[fault ? 65 : 64]; });
    vector_pair("operand off a block", "expected addresses on 32 bytes",
                [](bool fault) { fill(in_ub<float>(0, 64)[fault ? 4 : 8], 8); });
    vector_pair("index of a scalar", "index: expected less than the 8 elements",
                [](bool fault) { in_ub<int32_t>(0, 8).SetValue(fault ? 8 : 7, 1); });
    vector_pair("end of a GM buffer", "read of input: expected bytes within its 4096, got 3968 to 4224",
                [](bool fault) {
                    GlobalTensor<float> tensor;
                    tensor.SetGlobalBuffer(global.input);
                    DataCopy(in_ub<float>(0, 64), tensor[fault ? 992 : 960], 64);
                });
    vector_pair("GM of nobody", "read of global memory: expected a buffer of the call", [](bool fault) {
        static const auto other = std::make_unique<float[]>(64);
        GlobalTensor<float> tensor;
        tensor.SetGlobalBuffer(fault ? other.get() : global.input, 64);
        DataCopy(in_ub<float>(0, 64), tensor, 64);
    });
    vector_pair("write to an input", "write to input: expected a buffer for results or workspace", [](bool fault) {
        fill(in_ub<float>(0, 64), 64);
        order<HardEvent::V_MTE3>();
        DataCopy(fault ? input() : work(), in_ub<float>(0, 64), 64);
    });
    vector_pair("workspace that nobody wrote",
                "read of workspace bytes 0 to 256: expected what this launch has written, got byte 224",
                [](bool fault) {
                    fill(in_ub<float>(0, 64), 64);
                    order<HardEvent::V_MTE3>();
                    DataCopy(work(), in_ub<float>(0, 64), fault ? 56 : 64);
                    order<HardEvent::MTE3_MTE2>();
                    DataCopy(in_ub<float>(1024, 64), work(), 64);
                });
    pair_of("vector work on a cube core", "Duplicate: expected to run on a vector core (cube core 0)", [](bool fault) {
        InitSocState();
        if (ASCEND_IS_AIV != fault) fill(LocalTensor<float>(TPosition::VECIN, 0, 64), 64);
        PipeBarrier<PIPE_ALL>();
    });
}

void test_parameters() {
    vector_pair("count of DataCopy", "count: expected a multiple of 32 bytes",
                [](bool fault) { DataCopy(in_ub<float>(0, 64), input(), fault ? 60 : 64); });
    vector_pair("blockCount", "blockCount: expected 1 to 4095", [](bool fault) {
        DataCopyParams params;
        params.blockCount = fault ? 0 : 1;
        params.blockLen = 1;
        DataCopy(in_ub<float>(0, 64), input(), params);
    });
    vector_pair("blockLen of DataCopyPad", "blockLen: expected at most 2097151", [](bool fault) {
        DataCopyExtParams params;
        params.blockLen = fault ? 2097152 : 12;
        DataCopyPad(in_ub<float>(0, 64), input(), params, DataCopyPadExtParams<float>());
    });
    vector_pair("repeat 256", "repeat: expected 1 to 255, got 0, which 256 becomes", [](bool fault) {
        const uint8_t repeat = static_cast<uint8_t>(fault ? 256 : 4);
        Duplicate(in_ub<float>(0, 256), 0.0f, uint64_t{64}, repeat, 1, 8);
    });
    vector_pair("mask", "mask: expected 1 to the elements of 256 bytes",
                [](bool fault) { Duplicate(in_ub<float>(0, 256), 0.0f, uint64_t{fault ? 65u : 64u}, 2, 1, 8); });
    vector_pair("count", "count: expected at least 1", [](bool fault) { fill(in_ub<float>(0, 64), fault ? 0 : 1); });
    vector_pair("repeats of a reduction", "repeatTime: expected 1 to 255", [](bool fault) {
        fill(in_ub<float>(0, 64), 64);
        PipeBarrier<PIPE_V>();
        WholeReduceSum<float>(in_ub<float>(4096, 64), in_ub<float>(0, 64), 64, fault ? 256 : 1, 1, 1, 8);
    });
    vector_pair("overlap", "expected the same address or no overlap", [](bool fault) {
        LocalTensor<float> tensor = in_ub<float>(0, 256);
        fill(tensor, 256);
        PipeBarrier<PIPE_V>();
        Adds(tensor[fault ? 8 : 128], tensor, 1.0f, 128);
    });
    vector_pair("rounding of a cast", "roundMode: expected one that this pair of types has", [](bool fault) {
        fill(in_ub<float>(0, 64), 64);
        PipeBarrier<PIPE_V>();
        Cast(in_ub<bfloat16_t>(4096, 64), in_ub<float>(0, 64), fault ? RoundMode::CAST_NONE : RoundMode::CAST_RINT, 64);
    });
    vector_pair("count of a comparison", "count: expected a multiple of 256 bytes", [](bool fault) {
        fill(in_ub<float>(0, 64), 64);
        PipeBarrier<PIPE_V>();
        Compares(in_ub<uint8_t>(4096, 32), in_ub<float>(0, 64), 0.0f, CMPMODE::LT, fault ? 32 : 64);
    });
    if (kFirst) {
        vector_pair("comparison of integers", "cmpMode: expected EQ for int32_t", [](bool fault) {
            Duplicate(in_ub<int32_t>(0, 64), 3, 64);
            PipeBarrier<PIPE_V>();
            Compares(in_ub<uint8_t>(4096, 32), in_ub<int32_t>(0, 64), 0, fault ? CMPMODE::LT : CMPMODE::EQ, 64);
        });
    }
    vector_pair("offset of Gather", "srcOffset: expected a byte of src on an element, got 256 at index 3",
                [](bool fault) {
                    fill(in_ub<float>(0, 64), 64);
                    LocalTensor<uint32_t> offsets = in_ub<uint32_t>(4096, 8);
                    Duplicate(offsets, uint32_t{0}, 8);
                    order<HardEvent::V_S>();
                    offsets.SetValue(3, fault ? 256 : 252);
                    order<HardEvent::S_V>();
                    Gather(in_ub<float>(8192, 8), in_ub<float>(0, 64), offsets, 0, 8);
                });
    cube_pair("rows of Nd2Nz", "nValue: expected at most 16384", [](bool fault) {
        Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = fault ? 16385 : 4;
        params.dValue = 16;
        params.srcDValue = 0;
        params.dstNzC0Stride = 16;
        params.dstNzNStride = 1;
        DataCopy(LocalTensor<float>(TPosition::A1, 0, 1024), input(), params);
    });
}

void test_cube() {
    cube_pair("product of one row", "m: expected more than 1, got 1", [](bool fault) {
        Tiny tiny;
        tiny.load();
        tiny.multiply(fault ? 1 : 16);
    });
    cube_pair("depth of a product", "m, n, k: expected at most 4095", [](bool fault) {
        Tiny tiny;
        tiny.load();
        tiny.multiply(16, fault ? 4096 : 16);
    });
    cube_pair("small products into one tile", "expected PipeBarrier<PIPE_M>() between two products", [](bool fault) {
        Tiny tiny;
        tiny.load();
        tiny.multiply();
        if (!fault) PipeBarrier<PIPE_M>();
        tiny.multiply(16, 16, false);
    });
    cube_pair("mode of Fixpipe", "quantPre: expected a mode that makes dst's type of src's", [](bool fault) {
        Tiny tiny;
        tiny.load();
        tiny.multiply();
        order<HardEvent::M_FIX>();
        GlobalTensor<half> out;
        out.SetGlobalBuffer(reinterpret_cast<half*>(global.work), 256);
        tiny.store(fault ? QuantMode_t::F322BF16 : QuantMode_t::F322F16, out);
    });
    cube_pair("Fixpipe before the product is done",
              "read of L0C bytes 0 to 1024 on pipe FIX: expected a flag or barrier behind Mmad", [](bool fault) {
                  Tiny tiny;
                  tiny.load();
                  tiny.multiply();
                  if (!fault) order<HardEvent::M_FIX>();
                  tiny.store(QuantMode_t::NoQuant, work());
              });
    cube_pair("repeats of LoadData", kFirst ? "repeatTimes: expected 1 to 255" : "mStep, kStep: expected at least 1",
              [](bool fault) {
                  Tiny tiny;
                  DataCopy(tiny.l1, input(), 1024);
                  order<HardEvent::MTE2_MTE1>();
#if __NPU_ARCH__ == 2201
                  LoadData2DParams params;
                  params.repeatTimes = static_cast<uint8_t>(fault ? 256 : 1);
                  params.srcStride = 1;
#else
        LoadData2DParamsV2 params;
        params.mStep = fault ? 0 : 1;
        params.kStep = 1;
        params.srcStride = 1;
        params.dstStride = 1;
#endif
                  LoadData(tiny.a, tiny.l1, params);
              });
    cube_pair("L0A without a load", "expected L1 to L0A or L0B", [](bool fault) {
        Tiny tiny;
        DataCopy(tiny.l1, input(), 1024);
        order<HardEvent::MTE2_MTE1>();
#if __NPU_ARCH__ == 2201
        LoadData2DParams params;
        params.repeatTimes = 1;
#else
        LoadData2DParamsV2 params;
        params.mStep = 1;
        params.kStep = 1;
        params.srcStride = 1;
        params.dstStride = 1;
#endif
        LoadData(tiny.a, fault ? tiny.b : tiny.l1, params);
    });
}

}  // namespace

int main() {
    test_places();
    test_parameters();
    test_cube();
    return check_result();
}
