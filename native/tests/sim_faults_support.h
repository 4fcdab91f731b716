// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault, one for each check of the simulator, and their twins without it. A twin passes all
// checks; the faulty one ends with a message that names the fault.
#pragma once

#include "sim_support.h"

namespace sim_test {

using namespace AscendC;

constexpr bool kFirst = __NPU_ARCH__ == 2201;

// Global memory of the kernels: an input that nobody may write, and a workspace.
struct Global {
    float input[1024];
    float work[4096];
};
inline Global global;

inline sim::LaunchOptions options_for(uint32_t blocks = 1) {
    sim::LaunchOptions options = checked(blocks);
    options.buffers = {{global.input, sizeof global.input, "input", false},
                       {global.work, sizeof global.work, "workspace", true, true}};
    return options;
}

// `body(fault)` on the vector cores.
template <class Body>
void on_vector(Body body, bool fault) {
    InitSocState();
    if ASCEND_IS_AIV {
        body(fault);
    }
    PipeBarrier<PIPE_ALL>();
}
template <class Body>
void on_first_vector(Body body, bool fault) {
    on_vector(
        [&](bool wrong) {
            if (GetSubBlockIdx() == 0) body(wrong);
        },
        fault);
}
template <class Body>
void on_cube(Body body, bool fault) {
    InitSocState();
    if ASCEND_IS_AIC {
        body(fault);
    }
    PipeBarrier<PIPE_ALL>();
}

template <class Kernel>
void pair_of(const char* what, const char* needle, Kernel kernel, uint32_t blocks = 1) {
    expect_clean_in_any_order(what, options_for(blocks), [&] { kernel(false); });
    expect_fault(what, options_for(blocks), needle, [&] { kernel(true); });
}
template <class Body>
void vector_pair(const char* what, const char* needle, Body body) {
    pair_of(what, needle, [&](bool fault) { on_first_vector(body, fault); });
}
template <class Body>
void cube_pair(const char* what, const char* needle, Body body) {
    pair_of(what, needle, [&](bool fault) { on_cube(body, fault); });
}

template <class T>
LocalTensor<T> in_ub(uint32_t address, uint32_t elements) {
    return LocalTensor<T>(TPosition::VECCALC, address, elements);
}
inline GlobalTensor<float> input() {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(global.input, 1024);
    return tensor;
}
inline GlobalTensor<float> work(uint64_t elements = 4096) {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(global.work, elements);
    return tensor;
}
inline void fill(const LocalTensor<float>& tensor, int32_t count) { Duplicate(tensor, 1.0f, count); }
template <HardEvent event>
void order(int32_t id = 0) {
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

// One 16 x 16 x 16 product on inputs that are all zero.
struct Tiny {
    LocalTensor<float> l1{TPosition::A1, 0, 1024};
    LocalTensor<float> a{TPosition::A2, 0, 1024};
    LocalTensor<float> b{TPosition::B2, 0, 1024};
    LocalTensor<float> c{TPosition::CO1, 0, 1024};

    void load() const {
        DataCopy(l1, input(), 1024);
        order<HardEvent::MTE2_MTE1>();
#if __NPU_ARCH__ == 2201
        LoadData2DParams params;
        params.repeatTimes = 4;
        params.srcStride = 1;
#else
        LoadData2DParamsV2 params;
        params.mStep = 1;
        params.kStep = 4;
        params.srcStride = 1;
        params.dstStride = 1;
#endif
        LoadData(a, l1, params);
        LoadData(b, l1, params);
        order<HardEvent::MTE1_M>();
    }
    void multiply(uint16_t m = 16, uint16_t k = 16, bool start = true) const {
        MmadParams params;
        params.m = m;
        params.n = 16;
        params.k = k;
        params.cmatrixInitVal = start;
        Mmad(c, a, b, params);
    }
    template <class T>
    void store(QuantMode_t mode, const GlobalTensor<T>& to) const {
#if __NPU_ARCH__ == 2201
        FixpipeParamsV220 params;
#else
        FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> params;
#endif
        params.mSize = 16;
        params.nSize = 16;
        params.srcStride = 16;
        params.dstStride = 16;
        params.quantPre = mode;
        Fixpipe<T, float, CFG_ROW_MAJOR>(to, c, params);
    }
};

}  // namespace sim_test
