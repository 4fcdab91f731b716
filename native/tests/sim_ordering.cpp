// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Planted faults in what orders operations: flags, barriers, what cores tell each other; and what they do to results.
#include <cmath>

#include "sim_faults_support.h"

namespace {

using namespace sim_test;

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

}  // namespace

int main() {
    test_flags();
    test_cross_core();
    test_races();
    test_poison_and_orders();
    return check_result();
}
