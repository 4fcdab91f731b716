// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault, one for each check of the simulator, and their twins without it. A twin passes all
// checks; the faulty one ends with a message that names the fault.
#include <cmath>
#include <memory>

#include "sim_support.h"

namespace {

using namespace AscendC;
using namespace sim_test;

constexpr bool kFirst = __NPU_ARCH__ == 2201;

// Global memory of the kernels: an input that nobody may write, and a workspace.
struct Global {
    float input[1024];
    float work[4096];
} global;

sim::LaunchOptions options_for(uint32_t blocks = 1) {
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
GlobalTensor<float> input() {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(global.input, 1024);
    return tensor;
}
GlobalTensor<float> work(uint64_t elements = 4096) {
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer(global.work, elements);
    return tensor;
}
void fill(const LocalTensor<float>& tensor, int32_t count) { Duplicate(tensor, 1.0f, count); }
template <HardEvent event>
void order(int32_t id = 0) {
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

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

void test_flags() {
    vector_pair("number of a flag", "eventID: expected 0 to 7, got 8",
                [](bool fault) { order<HardEvent::MTE2_V>(fault ? 8 : 7); });
    vector_pair("flag set twice", "MTE2_V flag 0: expected a wait since it was set, got a second set", [](bool fault) {
        SetFlag<HardEvent::MTE2_V>(0);
        if (fault) SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    });
    vector_pair("flag left over", "MTE2_V flag 3: expected a wait for every set", [](bool fault) {
        SetFlag<HardEvent::MTE2_V>(3);
        if (!fault) WaitFlag<HardEvent::MTE2_V>(3);
    });
    vector_pair(
        "flag never set",
        "vector core 0.0: program waits in PipeBarrier<PIPE_ALL>; pipe V stands at WaitFlag<MTE2_V>(2), 1 in its queue",
        [](bool fault) {
            if (!fault) SetFlag<HardEvent::MTE2_V>(2);
            WaitFlag<HardEvent::MTE2_V>(2);
        });
    vector_pair("flag that may be lost", "expected the last wait for it to come before this set", [](bool fault) {
        order<HardEvent::MTE2_V>();
        if (!fault) order<HardEvent::V_MTE2>();
        order<HardEvent::MTE2_V>();
    });
    pair_of("start of a kernel", "Duplicate: expected InitSocState() before the first operation", [](bool fault) {
        if (!fault) InitSocState();
        if ASCEND_IS_AIV {
            fill(in_ub<float>(0, 64), 64);
        }
        PipeBarrier<PIPE_ALL>();
    });
    pair_of("end of a kernel", "expected PipeBarrier<PIPE_ALL>() behind the last operation", [](bool fault) {
        InitSocState();
        if ASCEND_IS_AIV {
            fill(in_ub<float>(0, 64), 64);
        }
        if (!fault) PipeBarrier<PIPE_ALL>();
    });
}

void test_cross_core() {
    pair_of("only one vector core sets", "cube core 0: program waits in CrossCoreWaitFlag<2>(1)", [](bool fault) {
        InitSocState();
        if ASCEND_IS_AIV {
            if (!fault || GetSubBlockIdx() == 0) CrossCoreSetFlag<2, PIPE_MTE3>(1);
        } else {
            CrossCoreWaitFlag<2, PIPE_S>(1);
        }
        PipeBarrier<PIPE_ALL>();
    });
    pair_of("flag between cores left over",
            "flagId 2 of mode 2 from the cube side of core 0: expected a wait for every set", [](bool fault) {
                InitSocState();
                if ASCEND_IS_AIC {
                    CrossCoreSetFlag<2, PIPE_FIX>(2);
                } else {
                    if (!fault) CrossCoreWaitFlag<2, PIPE_S>(2);
                }
                PipeBarrier<PIPE_ALL>();
            });
    pair_of("too many sets", "expected at most 15 sets without a wait, got 16", [](bool fault) {
        InitSocState();
        const int sets = fault ? 16 : 15;
        if ASCEND_IS_AIC {
            for (int i = 0; i < sets; i++) CrossCoreSetFlag<2, PIPE_FIX>(2);
        }
        PipeBarrier<PIPE_ALL>();
        if ASCEND_IS_AIV {
            for (int i = 0; i < sets; i++) CrossCoreWaitFlag<2, PIPE_S>(2);
        }
        PipeBarrier<PIPE_ALL>();
    });
    pair_of("flag of SyncAll", "flagId: expected 0 to 10", [](bool fault) {
        InitSocState();
        const uint16_t id = fault ? 12 : 10;
        if ASCEND_IS_AIC {
            CrossCoreSetFlag<2, PIPE_FIX>(id);
        } else {
            CrossCoreWaitFlag<2, PIPE_S>(id);
        }
        PipeBarrier<PIPE_ALL>();
    });
    pair_of(
        "core that misses SyncAll", "vector core 1.1: ended",
        [](bool fault) {
            InitSocState();
            if ASCEND_IS_AIV {
                if (!fault || GetBlockIdx() != 3) SyncAll<true>();
            }
            PipeBarrier<PIPE_ALL>();
        },
        2);
    pair_of("cube core in SyncAll of vector cores", "expected SyncAll<false>() on a cube core", [](bool fault) {
        InitSocState();
        if (fault) SyncAll<true>();
        else SyncAll<false>();
        PipeBarrier<PIPE_ALL>();
    });
    // A tile from the cube core to a vector core through GM.
    pair_of("hand-over through GM",
            "read of GM bytes 0 to 1024 on pipe MTE2: expected a flag or barrier behind Fixpipe on pipe FIX of cube "
            "core 0, which wrote there",
            [](bool fault) {
                InitSocState();
                if ASCEND_IS_AIC {
                    Tiny tiny;
                    tiny.load();
                    tiny.multiply();
                    order<HardEvent::M_FIX>();
                    tiny.store(QuantMode_t::NoQuant, work());
                    if (!fault) CrossCoreSetFlag<2, PIPE_FIX>(4);
                    else CrossCoreSetFlag<2, PIPE_MTE2>(4);
                } else {
                    CrossCoreWaitFlag<2, PIPE_MTE2>(4);
                    DataCopy(in_ub<float>(0, 256), work(), 256);
                }
                PipeBarrier<PIPE_ALL>();
            });
}

void test_races() {
    vector_pair("use before the load is done",
                "read of UB bytes 0 to 256 on pipe V: expected a flag or barrier behind DataCopy on pipe MTE2 of "
                "vector core 0.0, which wrote there",
                [](bool fault) {
                    DataCopy(in_ub<float>(0, 64), input(), 64);
                    if (!fault) order<HardEvent::MTE2_V>();
                    Adds(in_ub<float>(4096, 64), in_ub<float>(0, 64), 1.0f, 64);
                });
    vector_pair("load over what is still used",
                "write of UB bytes 0 to 256 on pipe MTE2: expected a flag or barrier behind Adds", [](bool fault) {
                    DataCopy(in_ub<float>(0, 64), input(), 64);
                    order<HardEvent::MTE2_V>();
                    Adds(in_ub<float>(4096, 64), in_ub<float>(0, 64), 1.0f, 64);
                    if (!fault) order<HardEvent::V_MTE2>();
                    DataCopy(in_ub<float>(0, 64), input(), 64);
                });
    vector_pair("store before the result is there", "on pipe MTE3: expected a flag or barrier behind Duplicate",
                [](bool fault) {
                    fill(in_ub<float>(0, 64), 64);
                    if (!fault) order<HardEvent::V_MTE3>();
                    DataCopy(work(), in_ub<float>(0, 64), 64);
                });
    vector_pair("flag of another pair of pipes", "on pipe MTE3: expected a flag or barrier behind Duplicate",
                [](bool fault) {
                    fill(in_ub<float>(0, 64), 64);
                    if (!fault) order<HardEvent::V_MTE3>();
                    else order<HardEvent::MTE2_MTE3>();
                    DataCopy(work(), in_ub<float>(0, 64), 64);
                });
    vector_pair("flag set too early", "on pipe MTE3: expected a flag or barrier behind Duplicate", [](bool fault) {
        if (fault) SetFlag<HardEvent::V_MTE3>(0);
        fill(in_ub<float>(0, 64), 64);
        if (!fault) SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(work(), in_ub<float>(0, 64), 64);
    });
    vector_pair("scalar read of a vector result",
                "read of UB bytes 4 to 8 on pipe S: expected a flag or barrier behind Duplicate", [](bool fault) {
                    fill(in_ub<float>(0, 64), 64);
                    if (!fault) order<HardEvent::V_S>();
                    (void)in_ub<float>(0, 64).GetValue(1);
                });
    vector_pair("vector read of a scalar store",
                "on pipe V: expected a flag or barrier behind LocalTensor::SetValue on pipe S", [](bool fault) {
                    in_ub<float>(0, 8).SetValue(0, 2.0f);
                    if (!fault) order<HardEvent::S_V>();
                    Adds(in_ub<float>(4096, 8), in_ub<float>(0, 8), 1.0f, 1);
                });
    vector_pair("scalar store that stays in its cache",
                "expected DataCacheCleanAndInvalid after the SetValue of vector core 0.0", [](bool fault) {
                    GlobalTensor<float> tensor = work();
                    tensor.SetValue(0, 2.0f);
                    if (!fault)
                        DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(tensor);
                    order<HardEvent::S_MTE2>();
                    DataCopy(in_ub<float>(0, 8), tensor, 8);
                });
    if (kFirst) {
        vector_pair("two vector instructions without a barrier",
                    "read of UB bytes 0 to 256 on pipe V: expected a flag or barrier behind Duplicate on pipe V",
                    [](bool fault) {
                        fill(in_ub<float>(0, 64), 64);
                        if (!fault) PipeBarrier<PIPE_V>();
                        Adds(in_ub<float>(4096, 64), in_ub<float>(0, 64), 1.0f, 64);
                    });
    }
    // Two cores that write the same bytes.
    pair_of("two writers",
            "write of GM bytes 0 to 32 on pipe MTE3: expected a flag or barrier behind DataCopy on pipe MTE3 of vector "
            "core 0.0",
            [](bool fault) {
                on_vector(
                    [](bool wrong) {
                        fill(in_ub<float>(0, 8), 8);
                        order<HardEvent::V_MTE3>();
                        DataCopy(work()[wrong ? 0 : GetSubBlockIdx() * 8], in_ub<float>(0, 8), 8);
                    },
                    fault);
            });
}

// What nobody wrote is NaN, and a missing flag shows in the result when pipes run in random orders.
void test_poison_and_orders() {
    const auto unwritten = [](bool fault) {
        on_first_vector(
            [](bool wrong) {
                fill(in_ub<float>(0, 64), wrong ? 63 : 64);
                order<HardEvent::V_MTE3>();
                DataCopy(work(), in_ub<float>(0, 64), 64);
            },
            fault);
    };
    expect_clean("poison", options_for(), [&] { unwritten(false); });
    CHECK(global.work[63] == 1.0f);
    expect_clean("poison", options_for(), [&] { unwritten(true); });
    CHECK(std::isnan(global.work[63]));
    CHECK(std::isnan(global.work[64]));  // of the workspace

    const auto unordered = [](bool fault) {
        on_first_vector(
            [](bool wrong) {
                Duplicate(in_ub<float>(0, 64), 1.0f, 64);
                if (!wrong) order<HardEvent::V_MTE3>();
                DataCopy(work(), in_ub<float>(0, 64), 64);
            },
            fault);
    };
    int wrong_results[2] = {0, 0};
    for (int fault = 0; fault < 2; fault++) {
        sim::LaunchOptions options = options_for();
        options.races = false;
        for (options.seed = 1; options.seed < 30; options.seed++) {
            expect_clean("random order", options, [&] { unordered(fault != 0); });
            if (global.work[0] != 1.0f) wrong_results[fault]++;
        }
    }
    CHECK_EQUAL(wrong_results[0], 0);
    CHECK(wrong_results[1] > 0);
}

#if __NPU_ARCH__ == 3510
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
#endif

}  // namespace

int main() {
    test_places();
    test_parameters();
    test_cube();
    test_flags();
    test_cross_core();
    test_races();
    test_poison_and_orders();
#if __NPU_ARCH__ == 3510
    test_second_chip();
#endif
    return check_result();
}
