// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Small whole kernels, with all checks and in random orders of the pipes: their results are those of plain loops.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sim_support.h"

namespace {

using namespace AscendC;
using namespace sim_test;

half from(float value) { return half(value); }
bfloat16_t from_bf16(float value) { return ToBfloat16(value); }

float pattern(uint32_t i) { return static_cast<float>(static_cast<int>((i * 37u + 11u) % 41u) - 20) / 16.0f; }

// C [m][n] = A [m][k] B, with B given as rows of k ([n][k], no transposition needed) or of n ([k][n]).
template <class T>
struct MatmulProblem {
    uint32_t m, n, k;
    bool b_transposed;  // [k][n]
    std::vector<T> a, b;
    std::vector<float> c, expected;

    MatmulProblem(uint32_t rows, uint32_t columns, uint32_t depth, bool transposed, T (*make)(float))
        : m(rows), n(columns), k(depth), b_transposed(transposed), a(m * k), b(n * k), c(m * n), expected(m * n) {
        for (uint32_t i = 0; i < a.size(); i++) a[i] = make(pattern(i));
        for (uint32_t i = 0; i < b.size(); i++) b[i] = make(pattern(i * 3 + 5));
        for (uint32_t row = 0; row < m; row++) {
            for (uint32_t column = 0; column < n; column++) {
                double sum = 0;
                for (uint32_t i = 0; i < k; i++) {
                    const T right = b_transposed ? b[i * n + column] : b[column * k + i];
                    sum +=
                        static_cast<double>(detail::widen(a[row * k + i])) * static_cast<double>(detail::widen(right));
                }
                expected[row * n + column] = static_cast<float>(sum);
            }
        }
    }
};

constexpr uint32_t round_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

template <class T>
void load_nz(const LocalTensor<T>& l1, T* address, uint32_t rows, uint32_t columns) {
    GlobalTensor<T> global;
    global.SetGlobalBuffer(address, uint64_t{rows} * columns);
    Nd2NzParams params;
    params.ndNum = 1;
    params.nValue = static_cast<uint16_t>(rows);
    params.dValue = static_cast<uint16_t>(columns);
    params.srcDValue = static_cast<uint16_t>(columns);
    params.dstNzC0Stride = static_cast<uint16_t>(round_up(rows, 16));
    params.dstNzNStride = 1;
    DataCopy(l1, global, params);
}

// L1 [rows][columns] in NZ to L0A as [rows][columns], or to L0B as its transpose (rows along n) or as it is (rows along
// k).
template <class T>
void load_l0(const LocalTensor<T>& l0, const LocalTensor<T>& l1, uint32_t rows, uint32_t columns, bool to_a,
             bool transpose) {
    constexpr uint32_t kC0 = 32 / sizeof(T);
    const uint32_t m1 = round_up(rows, 16) / 16;
    const uint32_t k1 = round_up(columns, kC0) / kC0;
#if __NPU_ARCH__ == 2201
    LoadData2DParams params;
    params.ifTranspose = transpose;
    if (to_a) {  // row after row of fractals
        for (uint32_t row = 0; row < m1; row++) {
            params.startIndex = static_cast<uint16_t>(row);
            params.repeatTimes = static_cast<uint8_t>(k1);
            params.srcStride = static_cast<uint16_t>(m1);
            LoadData(l0[row * k1 * 512 / sizeof(T)], l1, params);
        }
    } else if (!transpose) {
        params.repeatTimes = static_cast<uint8_t>(m1 * k1);
        params.srcStride = 1;
        LoadData(l0, l1, params);
    } else {
        for (uint32_t row = 0; row < m1; row++) {
            params.startIndex = static_cast<uint16_t>(row);
            params.repeatTimes = static_cast<uint8_t>(k1);
            params.srcStride = static_cast<uint16_t>(m1);
            LoadData(l0[row * k1 * 512 / sizeof(T)], l1, params);
        }
    }
#else
    (void)to_a;
    LoadData2DParamsV2 params;
    params.mStep = static_cast<uint16_t>(m1);
    params.kStep = static_cast<uint16_t>(k1);
    params.srcStride = static_cast<int32_t>(m1);
    params.dstStride = static_cast<uint16_t>(transpose ? k1 : m1);
    params.ifTranspose = transpose;
    LoadData(l0, l1, params);
#endif
}

template <class T>
void matmul_kernel(T* a, T* b, float* c, uint32_t m, uint32_t n, uint32_t k, bool b_transposed) {
    InitSocState();
    if ASCEND_IS_AIC {
        LocalTensor<T> a1(TPosition::A1, 0, 32768);
        LocalTensor<T> b1(TPosition::B1, 131072, 32768);
        LocalTensor<T> a2(TPosition::A2, 0, 32768);
        LocalTensor<T> b2(TPosition::B2, 0, 32768);
        LocalTensor<float> c1(TPosition::CO1, 0, 16384);
        load_nz(a1, a, m, k);
        load_nz(b1, b, b_transposed ? k : n, b_transposed ? n : k);
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        load_l0(a2, a1, m, k, true, false);
        load_l0(b2, b1, b_transposed ? k : n, b_transposed ? n : k, false, b_transposed);
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        MmadParams params;
        params.m = static_cast<uint16_t>(m);
        params.n = static_cast<uint16_t>(n);
        params.k = static_cast<uint16_t>(k);
        Mmad(c1, a2, b2, params);
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        GlobalTensor<float> out;
        out.SetGlobalBuffer(c, uint64_t{m} * n);
#if __NPU_ARCH__ == 2201
        FixpipeParamsV220 outlet;
#else
        FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> outlet;
#endif
        outlet.mSize = static_cast<uint16_t>(m);
        outlet.nSize = static_cast<uint16_t>(n);
        outlet.srcStride = static_cast<uint16_t>(round_up(m, 16));
        outlet.dstStride = n;
        Fixpipe<float, float, CFG_ROW_MAJOR>(out, c1, outlet);
    }
    PipeBarrier<PIPE_ALL>();
}

template <class T>
void test_matmul(uint32_t m, uint32_t n, uint32_t k, bool b_transposed, T (*make)(float)) {
    MatmulProblem<T> problem(m, n, k, b_transposed, make);
    sim::LaunchOptions options = checked();
    options.buffers = {{problem.a.data(), problem.a.size() * sizeof(T), "a", false},
                       {problem.b.data(), problem.b.size() * sizeof(T), "b", false},
                       {problem.c.data(), problem.c.size() * sizeof(float), "c", true}};
    for (options.seed = 0; options.seed < 4; options.seed++) {
        std::fill(problem.c.begin(), problem.c.end(), -1.0f);
        expect_clean("matrix product", options, [&] {
            matmul_kernel<T>(problem.a.data(), problem.b.data(), problem.c.data(), m, n, k, b_transposed);
        });
        float worst = 0;
        for (size_t i = 0; i < problem.c.size(); i++) {
            worst = std::max(worst, std::fabs(problem.c[i] - problem.expected[i]));
            if (problem.c[i] != problem.c[i]) worst = INFINITY;
        }
        CHECK(worst < 1e-4f);
    }
}

// Softmax of rows of 64 columns over two vector cores, with a hand-over through a second buffer.
void softmax_kernel(float* x, uint32_t rows) {
    InitSocState();
    if ASCEND_IS_AIV {
        const uint32_t half_rows = rows / 2;
        GlobalTensor<float> global;
        global.SetGlobalBuffer(x + GetSubBlockIdx() * half_rows * 64, half_rows * 64);
        LocalTensor<float> tile(TPosition::VECIN, 0, 64 * 64);
        LocalTensor<float> wide(TPosition::VECCALC, 32768, 64 * 8);
        LocalTensor<float> row(TPosition::VECCALC, 49152, 64);
        DataCopy(tile, global, half_rows * 64);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        WholeReduceMax<float>(row, tile, 64, static_cast<int32_t>(half_rows), 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        PipeBarrier<PIPE_V>();
        Brcb(wide, row, static_cast<uint8_t>(half_rows / 8), BrcbRepeatParams());
        PipeBarrier<PIPE_V>();
        BinaryRepeatParams by_row;
        by_row.src1BlkStride = 0;
        by_row.src1RepStride = 1;
        Sub(tile, tile, wide, uint64_t{64}, static_cast<uint8_t>(half_rows), by_row);
        PipeBarrier<PIPE_V>();
        Exp(tile, tile, static_cast<int32_t>(half_rows * 64));
        PipeBarrier<PIPE_V>();
        WholeReduceSum<float>(row, tile, 64, static_cast<int32_t>(half_rows), 1, 1, 8);
        PipeBarrier<PIPE_V>();
        Brcb(wide, row, static_cast<uint8_t>(half_rows / 8), BrcbRepeatParams());
        PipeBarrier<PIPE_V>();
        Div(tile, tile, wide, uint64_t{64}, static_cast<uint8_t>(half_rows), by_row);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(global, tile, half_rows * 64);
    }
    PipeBarrier<PIPE_ALL>();
}

void test_softmax() {
    constexpr uint32_t kRows = 32;
    std::vector<float> x(kRows * 64), expected(x.size());
    sim::LaunchOptions options = checked();
    options.buffers = {{x.data(), x.size() * 4, "x", true}};
    for (options.seed = 0; options.seed < 4; options.seed++) {
        for (uint32_t i = 0; i < x.size(); i++) x[i] = pattern(i) * 4;
        for (uint32_t row = 0; row < kRows; row++) {
            double sum = 0;
            for (uint32_t i = 0; i < 64; i++) sum += std::exp(static_cast<double>(x[row * 64 + i]));
            for (uint32_t i = 0; i < 64; i++) {
                expected[row * 64 + i] = static_cast<float>(std::exp(static_cast<double>(x[row * 64 + i])) / sum);
            }
        }
        expect_clean("softmax", options, [&] { softmax_kernel(x.data(), kRows); });
        float worst = 0;
        for (size_t i = 0; i < x.size(); i++) worst = std::max(worst, std::fabs(x[i] - expected[i]));
        CHECK(worst < 1e-6f);
    }
}

// Every core adds to its piece what its neighbour wrote before SyncAll.
void neighbour_kernel(int32_t* values, int32_t* sums) {
    InitSocState();
    if ASCEND_IS_AIV {
        const uint32_t own = static_cast<uint32_t>(GetBlockIdx());
        const uint32_t count = static_cast<uint32_t>(GetBlockNum()) * 2;
        GlobalTensor<int32_t> global, result;
        global.SetGlobalBuffer(values, count * 8);
        result.SetGlobalBuffer(sums, count * 8);
        LocalTensor<int32_t> mine(TPosition::VECIN, 0, 8);
        LocalTensor<int32_t> other(TPosition::VECIN, 32, 8);
        Duplicate(mine, static_cast<int32_t>(own + 1), 8);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(global[own * 8], mine, 8);
        SyncAll<true>();
        DataCopy(other, global[(own + 1) % count * 8], 8);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Add(mine, mine, other, 8);
        SetFlag<HardEvent::V_MTE3>(1);
        WaitFlag<HardEvent::V_MTE3>(1);
        DataCopy(result[own * 8], mine, 8);
    }
    PipeBarrier<PIPE_ALL>();
}

void test_sync_all(bool fast) {
    constexpr uint32_t kBlocks = 4;
    std::vector<int32_t> values(kBlocks * 2 * 8), sums(values.size());
    sim::LaunchOptions options = checked(kBlocks);
    options.checks = !fast;
    options.threads = fast ? 2 : 1;
    for (options.seed = 0; options.seed < (fast ? 1u : 4u); options.seed++) {
        expect_clean("sum with the neighbour", options, [&] { neighbour_kernel(values.data(), sums.data()); });
        for (uint32_t core = 0; core < kBlocks * 2; core++) {
            CHECK_EQUAL(sums[core * 8 + 7], core + 1 + (core + 1) % (kBlocks * 2) + 1);
        }
    }
}

void test_counts() {
    MatmulProblem<half> problem(64, 48, 80, false, from);
    sim::LaunchOptions options = checked();
    options.checks = false;
    options.counts = true;
    options.traced_core = 0;
    const sim::LaunchResult result = sim::launch(
        options, [&] { matmul_kernel<half>(problem.a.data(), problem.b.data(), problem.c.data(), 64, 48, 80, false); });
    CHECK(result.ok);
    CHECK_EQUAL(result.units.size(), 3);
    const sim::UnitCounts& cube = result.units[0];
    CHECK_EQUAL(cube.macs, 64 * 48 * 80);
    CHECK_EQUAL(cube.cube_cycles, 4 * 3 * 5);
    CHECK_EQUAL(cube.path_bytes[static_cast<int>(sim::Path::gm_to_l1)], (64 + 48) * 80 * 2);
    CHECK_EQUAL(cube.path_bytes[static_cast<int>(sim::Path::l0c_to_gm)], 64 * 48 * 4);
    CHECK_EQUAL(cube.high_water[static_cast<int>(sim::Space::l0a)], 64 * 80 * 2);
    CHECK_EQUAL(cube.pipes[static_cast<int>(sim::Pipe::mte2)].operations, 2);
    CHECK(result.cycles > 0);
    CHECK(!result.trace.empty());
    // Without moving anything, the same counts.
    std::fill(problem.c.begin(), problem.c.end(), -1.0f);
    options.dry = true;
    const sim::LaunchResult dry = sim::launch(
        options, [&] { matmul_kernel<half>(problem.a.data(), problem.b.data(), problem.c.data(), 64, 48, 80, false); });
    CHECK(dry.ok);
    CHECK_EQUAL(dry.cycles, result.cycles);
    CHECK_EQUAL(dry.units[0].macs, cube.macs);
    CHECK(problem.c[0] == -1.0f);
}

}  // namespace

int main() {
    test_matmul<half>(64, 48, 80, false, from);
    test_matmul<half>(33, 47, 71, false, from);
    test_matmul<half>(48, 80, 64, true, from);
    test_matmul<bfloat16_t>(17, 128, 128, true, from_bf16);
    test_softmax();
    test_sync_all(false);
    test_sync_all(true);
    test_counts();
    return check_result();
}
