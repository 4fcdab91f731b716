// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Planted faults in what only dav-3510 has: vector functions, tiles from a cube core to UB, a flag for each vector
// core.
#include "sim_faults_support.h"

namespace {

using namespace sim_test;

constexpr FixpipeConfig kToUb = {CO2Layout::ROW_MAJOR, true};

__simd_vf__ inline void read_back(__ubuf__ float* memory, bool bar) {
    Reg::RegTensor<float> value;
    Reg::MaskReg all = Reg::CreateMask<float>();
    Reg::Duplicate(value, 1.0f);
    Reg::StoreAlign(memory, value, all);
    if (bar) Reg::LocalMemBar<Reg::MemType::VEC_STORE, Reg::MemType::VEC_LOAD>();
    Reg::LoadAlign(value, memory);
    Reg::StoreAlign(memory + 64, value, all);
}
__simd_vf__ inline void store_at(__ubuf__ float* memory) {
    Reg::RegTensor<float> value;
    Reg::MaskReg all = Reg::CreateMask<float>();
    Reg::Duplicate(value, 1.0f);
    Reg::StoreAlign(memory, value, all);
}

void test_second_chip() {
    vector_pair("load behind a store in a vector function", "expected LocalMemBar<VEC_STORE, VEC_LOAD>()",
                [](bool fault) { asc_vf_call<read_back>((__ubuf__ float*)in_ub<float>(0, 128).GetPhyAddr(), !fault); });
    vector_pair("address of a vector function", "address: expected bytes within the 253952 of UB", [](bool fault) {
        asc_vf_call<store_at>((__ubuf__ float*)in_ub<float>(253952 - 256, 64).GetPhyAddr() + (fault ? 8 : 0));
    });
    vector_pair("alignment in a vector function", "address: expected a multiple of 32", [](bool fault) {
        asc_vf_call<store_at>((__ubuf__ float*)in_ub<float>(0, 128).GetPhyAddr() + (fault ? 4 : 8));
    });
    vector_pair("vector function before the load is done",
                "write of UB bytes 0 to 256 on pipe V: expected a flag or barrier behind DataCopy", [](bool fault) {
                    DataCopy(in_ub<float>(0, 64), input(), 64);
                    if (!fault) order<HardEvent::MTE2_V>();
                    asc_vf_call<store_at>((__ubuf__ float*)in_ub<float>(0, 64).GetPhyAddr());
                });
    // Rows of a tile to both vector cores.
    pair_of("halves of an odd tile", "mSize: expected an even number with dualDstCtl 1", [](bool fault) {
        InitSocState();
        if ASCEND_IS_AIC {
            Tiny tiny;
            tiny.load();
            tiny.multiply();
            order<HardEvent::M_FIX>();
            FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> params;
            params.mSize = fault ? 15 : 16;
            params.nSize = 16;
            params.srcStride = 16;
            params.dstStride = 16;
            params.dualDstCtl = 1;
            Fixpipe<float, float, kToUb>(LocalTensor<float>(TPosition::VECIN, 0, 256), tiny.c, params);
        }
        PipeBarrier<PIPE_ALL>();
    });
    // Mode 4: each vector core has a flag of its own.
    pair_of("flag of the other vector core",
            "vector core 0.1: program waits in PipeBarrier<PIPE_ALL>; pipe V stands at CrossCoreWaitFlag<4>(3)",
            [](bool fault) {
                InitSocState();
                if ASCEND_IS_AIC {
                    CrossCoreSetFlag<4, PIPE_FIX>(3);
                    CrossCoreSetFlag<4, PIPE_FIX>(fault ? 3 : 16 + 3);
                } else {
                    CrossCoreWaitFlag<4, PIPE_V>(3);
                }
                PipeBarrier<PIPE_ALL>();
            });
}

}  // namespace

int main() {
    test_second_chip();
    return check_result();
}
