// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The cost model against the one published row of measurements that is known: a flash-attention sample for dav-3510
// whose versions took 113.8, 75.4, 51.1, 47.0 and 21.3 ms, the last at 96 % of the cube's peak. Here its steps are
// followed on one core by kernels that move the same tiles in the same order and compute nothing of value; the order of
// the versions, and roughly their ratios, have to come out. dav-3510 only.
#include <vector>

#include "sim_support.h"

namespace {

using namespace AscendC;
using namespace sim_test;

constexpr uint32_t kTile = 128;  // rows, keys and channels
constexpr uint32_t kTiles = 64;
constexpr uint32_t kRows = kTile / 2;  // of a vector core
constexpr uint32_t kOperandBytes = kTile * kTile * 2;
constexpr uint32_t kScoreBytes = kRows * kTile * 4;
constexpr FixpipeConfig kToUb = {CO2Layout::ROW_MAJOR, true};

struct Version {
    const char* name;
    bool on_chip;   // scores, probabilities and products stay in the core
    bool fused;     // one vector function per stage, else a call per step
    uint32_t ring;  // buffers of each hand-over
    uint32_t lag;   // tiles by which the second product follows the first
};

// Flags between cores, by the pipe that may go on.
enum : uint16_t { kScoreReady, kScoreFree, kProbReady, kProbFree, kProductReady, kProductFree };

struct Gm {
    GlobalTensor<bfloat16_t> keys;
    GlobalTensor<float> scores, products;
    GlobalTensor<bfloat16_t> probs;
};

template <pipe_t pipe>
void tell_vectors(uint16_t flag) {
    CrossCoreSetFlag<4, pipe>(flag);
    CrossCoreSetFlag<4, pipe>(flag + 16);
}
template <pipe_t pipe>
void wait_vectors(uint16_t flag) {
    CrossCoreWaitFlag<4, pipe>(flag);
    CrossCoreWaitFlag<4, pipe>(flag + 16);
}

class Cube {
public:
    Cube(const Version& version, const Gm& gm) : version_(version), gm_(gm) {}

    void run() {
        for (int i = 0; i < 2; i++) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
            SetFlag<HardEvent::M_MTE1>(i);
            SetFlag<HardEvent::FIX_M>(i);
        }
        for (uint32_t t = 0; t < kTiles + version_.lag; t++) {
            if (t < kTiles) product(t, true);
            if (t >= version_.lag) product(t - version_.lag, false);
        }
        for (int i = 0; i < 2; i++) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
            WaitFlag<HardEvent::M_MTE1>(i);
            WaitFlag<HardEvent::FIX_M>(i);
        }
    }

private:
    LocalTensor<bfloat16_t> l1(uint32_t place) const { return {TPosition::A1, place * kOperandBytes, kTile * kTile}; }

    void load(uint32_t place, const GlobalTensor<bfloat16_t>& from) const {
        Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = kTile;
        params.dValue = kTile;
        params.srcDValue = kTile;
        params.dstNzC0Stride = kTile;
        params.dstNzNStride = 1;
        DataCopy(l1(place), from, params);
    }

    // Scores of tile t (first), or its product with the values.
    void product(uint32_t t, bool first) {
        const int slot = static_cast<int>(number_++ % 2);
        const uint32_t place = 1 + static_cast<uint32_t>(slot);  // of keys or values
        const uint32_t prob = 3 + t % version_.ring;
        WaitFlag<HardEvent::MTE1_MTE2>(slot);
        load(place, gm_.keys[t * kTile * kTile]);
        if (!first && !version_.on_chip) {
            wait_vectors<PIPE_MTE2>(kProbReady);
            load(prob, gm_.probs);
        }
        SetFlag<HardEvent::MTE2_MTE1>(slot);
        WaitFlag<HardEvent::MTE2_MTE1>(slot);
        if (!first && version_.on_chip) wait_vectors<PIPE_MTE1>(kProbReady);
        WaitFlag<HardEvent::M_MTE1>(slot);
        LoadData2DParamsV2 whole;
        whole.mStep = whole.kStep = kTile / 16;
        whole.srcStride = kTile / 16;
        whole.dstStride = kTile / 16;
        const uint32_t l0 = static_cast<uint32_t>(slot) * kOperandBytes;
        const LocalTensor<bfloat16_t> a(TPosition::A2, l0, kTile * kTile), b(TPosition::B2, l0, kTile * kTile);
        LoadData(a, l1(first ? 0 : prob), whole);
        whole.ifTranspose = !first;
        LoadData(b, l1(place), whole);
        if (!first) tell_vectors<PIPE_MTE1>(kProbFree);
        SetFlag<HardEvent::MTE1_MTE2>(slot);
        SetFlag<HardEvent::MTE1_M>(slot);
        WaitFlag<HardEvent::MTE1_M>(slot);
        WaitFlag<HardEvent::FIX_M>(slot);
        const LocalTensor<float> c(TPosition::CO1, static_cast<uint32_t>(slot) * kTile * kTile * 4, kTile * kTile);
        MmadParams params;
        params.m = params.n = params.k = kTile;
        Mmad(c, a, b, params);
        SetFlag<HardEvent::M_MTE1>(slot);
        SetFlag<HardEvent::M_FIX>(slot);
        WaitFlag<HardEvent::M_FIX>(slot);
        wait_vectors<PIPE_FIX>(first ? kScoreFree : kProductFree);
        FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> outlet;
        outlet.mSize = outlet.nSize = kTile;
        outlet.srcStride = kTile;
        outlet.dstStride = kTile;
        if (version_.on_chip) {
            outlet.dualDstCtl = 1;
            const uint32_t ub = ((first ? 0 : version_.ring) + t % version_.ring) * kScoreBytes;
            Fixpipe<float, float, kToUb>(LocalTensor<float>(TPosition::VECIN, ub % (4 * kScoreBytes), kRows * kTile), c,
                                         outlet);
        } else {
            Fixpipe<float, float, CFG_ROW_MAJOR>(first ? gm_.scores : gm_.products, c, outlet);
        }
        SetFlag<HardEvent::FIX_M>(slot);
        tell_vectors<PIPE_FIX>(first ? kScoreReady : kProductReady);
    }

    const Version& version_;
    const Gm& gm_;
    uint32_t number_ = 0;
};

// Rows of scores lie across the lanes, so that maxima and sums need no reduction in a register.
__simd_vf__ inline void softmax_function(__ubuf__ float* scores, __ubuf__ bfloat16_t* probs, uint16_t registers) {
    static constexpr Reg::CastTrait kNarrow = {Reg::RegLayout::ZERO, Reg::SatMode::NO_SAT, Reg::MaskMergeMode::ZEROING,
                                               RoundMode::CAST_RINT};
    Reg::RegTensor<float> top, sum, value;
    Reg::RegTensor<bfloat16_t> narrow;
    Reg::MaskReg all = Reg::CreateMask<float>();
    Reg::Duplicate(top, -1e30f);
    Reg::Duplicate(sum, 0.0f);
    for (uint16_t i = 0; i < registers; i++) {
        Reg::LoadAlign(value, scores + i * 64);
        Reg::Max(top, top, value, all);
    }
    for (uint16_t i = 0; i < registers; i++) {
        Reg::LoadAlign(value, scores + i * 64);
        Reg::ExpSub(value, value, top, all);
        Reg::Add(sum, sum, value, all);
        Reg::Cast<bfloat16_t, float, kNarrow>(narrow, value, all);
        Reg::StoreAlign<bfloat16_t, Reg::StoreDist::DIST_PACK_B32>(probs + i * 64, narrow, all);
    }
}
__simd_vf__ inline void update_function(__ubuf__ float* out, __ubuf__ float* product, uint16_t registers) {
    Reg::RegTensor<float> value, more, factor;
    Reg::MaskReg all = Reg::CreateMask<float>();
    Reg::Duplicate(factor, 0.5f);
    for (uint16_t i = 0; i < registers; i++) {
        Reg::LoadAlign(value, out + i * 64);
        Reg::LoadAlign(more, product + i * 64);
        Reg::MulDstAdd(value, factor, more, all);
        Reg::StoreAlign(out + i * 64, value, all);
    }
}

class Vector {
public:
    Vector(const Version& version, const Gm& gm) : version_(version), gm_(gm) {}

    void run() {
        for (uint32_t i = 0; i < version_.ring; i++) {
            // Free buffers, from the pipe that will free them later.
            release(kScoreFree);
            release(kProductFree);
        }
        for (uint32_t i = 0; i < 2; i++) SetFlag<HardEvent::MTE3_V>(static_cast<int32_t>(i));
        if (!version_.on_chip) SetFlag<HardEvent::V_MTE2>(0);
        for (uint32_t t = 0; t < kTiles + version_.lag; t++) {
            if (t < kTiles) softmax(t);
            if (t >= version_.lag) update();
        }
        for (uint32_t i = 0; i < 2; i++) WaitFlag<HardEvent::MTE3_V>(static_cast<int32_t>(i));
        if (!version_.on_chip) WaitFlag<HardEvent::V_MTE2>(0);
        for (uint32_t i = 0; i < std::min(version_.ring, kTiles); i++) CrossCoreWaitFlag<4, PIPE_MTE3>(kProbFree);
    }

private:
    static constexpr int32_t kCount = kRows * kTile;
    LocalTensor<float> scores() const { return {TPosition::VECIN, 0, kCount}; }
    LocalTensor<float> out() const { return {TPosition::VECCALC, 4 * kScoreBytes, kCount}; }
    LocalTensor<float> small() const { return {TPosition::VECCALC, 5 * kScoreBytes, 64 * 8}; }
    LocalTensor<bfloat16_t> probs(uint32_t slot) const {
        return {TPosition::VECOUT, 5 * kScoreBytes + 4096 + slot * kScoreBytes / 2, kCount};
    }

    void release(uint16_t flag) const {
        if (version_.on_chip) CrossCoreSetFlag<4, PIPE_V>(flag);
        else CrossCoreSetFlag<4, PIPE_MTE2>(flag);
    }
    // The tile is in UB, and V may use it.
    void fetch(uint16_t ready, uint16_t free, const GlobalTensor<float>& from) const {
        if (version_.on_chip) return CrossCoreWaitFlag<4, PIPE_V>(ready);
        CrossCoreWaitFlag<4, PIPE_MTE2>(ready);
        WaitFlag<HardEvent::V_MTE2>(0);
        DataCopy(scores(), from, kCount);
        release(free);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    void done(uint16_t free) const {
        if (version_.on_chip) release(free);
        else SetFlag<HardEvent::V_MTE2>(0);
    }

    void softmax(uint32_t t) const {
        fetch(kScoreReady, kScoreFree, gm_.scores);
        const int32_t slot = static_cast<int32_t>(t % 2);
        WaitFlag<HardEvent::MTE3_V>(slot);
        const LocalTensor<float> s = scores();
        if (version_.fused) {
            asc_vf_call<softmax_function>((__ubuf__ float*)s.GetPhyAddr(),
                                          (__ubuf__ bfloat16_t*)probs(static_cast<uint32_t>(slot)).GetPhyAddr(),
                                          static_cast<uint16_t>(kCount / 64));
        } else {
            BinaryRepeatParams halves, by_row;
            halves.src0RepStride = halves.src1RepStride = 16;
            by_row.src1BlkStride = 0;
            by_row.dstRepStride = by_row.src0RepStride = 16;
            by_row.src1RepStride = 1;
            const uint8_t rows = kRows;
            Muls(s, s, 0.1f, kCount);
            Max(out(), s, s[64], uint64_t{64}, rows, halves);
            WholeReduceMax<float>(small(), out(), 64, kRows, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
            Max(small(), small(), small(), 64);
            Sub(small(), small(), small(), 64);
            Exp(small(), small(), 64);
            Brcb(small(), small(), 8, BrcbRepeatParams());
            Sub(s, s, small(), uint64_t{64}, rows, by_row);
            Sub(s[64], s[64], small(), uint64_t{64}, rows, by_row);
            Exp(s, s, kCount);
            Add(out(), s, s[64], uint64_t{64}, rows, halves);
            WholeReduceSum<float>(small(), out(), 64, kRows, 1, 1, 8);
            Mul(small(), small(), small(), 64);
            Add(small(), small(), small(), 64);
            Cast(probs(static_cast<uint32_t>(slot)), s, RoundMode::CAST_RINT, static_cast<uint32_t>(kCount));
        }
        done(kScoreFree);
        SetFlag<HardEvent::V_MTE3>(slot);
        WaitFlag<HardEvent::V_MTE3>(slot);
        if (t >= version_.ring) CrossCoreWaitFlag<4, PIPE_MTE3>(kProbFree);
        if (version_.on_chip) {
            DataCopy(LocalTensor<bfloat16_t>(TPosition::A1, (3 + t % version_.ring) * kOperandBytes, kCount),
                     probs(static_cast<uint32_t>(slot)), static_cast<uint32_t>(kCount));
        } else {
            DataCopy(gm_.probs, probs(static_cast<uint32_t>(slot)), static_cast<uint32_t>(kCount));
        }
        SetFlag<HardEvent::MTE3_V>(slot);
        CrossCoreSetFlag<4, PIPE_MTE3>(kProbReady);
    }

    void update() const {
        fetch(kProductReady, kProductFree, gm_.products);
        if (version_.fused) {
            asc_vf_call<update_function>((__ubuf__ float*)out().GetPhyAddr(), (__ubuf__ float*)scores().GetPhyAddr(),
                                         static_cast<uint16_t>(kCount / 64));
        } else {
            Brcb(small(), small(), 8, BrcbRepeatParams());
            BinaryRepeatParams by_row;
            by_row.src1BlkStride = 0;
            by_row.dstRepStride = by_row.src0RepStride = 16;
            by_row.src1RepStride = 1;
            Mul(out(), out(), small(), uint64_t{64}, static_cast<uint8_t>(kRows), by_row);
            Mul(out()[64], out()[64], small(), uint64_t{64}, static_cast<uint8_t>(kRows), by_row);
            Add(out(), out(), scores(), kCount);
        }
        done(kProductFree);
    }

    const Version& version_;
    const Gm& gm_;
};

sim::LaunchResult estimate(const Version& version) {
    static std::vector<float> memory(64);  // never touched: nothing is computed
    sim::LaunchOptions options;
    options.arch = sim::Arch::dav3510;
    options.blocks = 32;
    options.counts = options.dry = true;
    return sim::launch(options, [&] {
        Gm gm;
        gm.keys.SetGlobalBuffer(reinterpret_cast<bfloat16_t*>(memory.data()));
        gm.scores.SetGlobalBuffer(memory.data());
        gm.products.SetGlobalBuffer(memory.data());
        gm.probs.SetGlobalBuffer(reinterpret_cast<bfloat16_t*>(memory.data()));
        InitSocState();
        if ASCEND_IS_AIC {
            Cube(version, gm).run();
        } else {
            Vector(version, gm).run();
        }
        PipeBarrier<PIPE_ALL>();
    });
}

}  // namespace

int main() {
    const Version versions[] = {
        {"through GM, one after the other", false, false, 1, 0},
        {"on chip", true, false, 1, 0},
        {"on chip, fused vector functions", true, true, 1, 0},
        {"two buffers", true, true, 2, 0},
        {"four buffers, second product three tiles later", true, true, 4, 3},
    };
    const double measured[] = {113.8, 75.4, 51.1, 47.0, 21.3};
    double cycles[5];
    for (int i = 0; i < 5; i++) {
        const sim::LaunchResult result = estimate(versions[i]);
        if (!CHECK(result.ok)) printf("%s\n", result.error.c_str());
        cycles[i] = static_cast<double>(result.cycles);
        const double cube = static_cast<double>(result.units[0].cube_cycles);
        printf("%-50s %9.0f cycles, cube busy %3.0f %%, vector V %3.0f %%\n", versions[i].name, cycles[i],
               100 * cube / cycles[i], 100 * static_cast<double>(result.units[1].pipes[1].busy_cycles) / cycles[i]);
    }
    for (int i = 0; i < 5; i++) {
        const double ratio = cycles[i] / cycles[4], published = measured[i] / measured[4];
        printf("%-50s %5.2f times the last; published: %5.2f\n", versions[i].name, ratio, published);
        CHECK(i == 0 || cycles[i] <= cycles[i - 1]);
        CHECK(ratio > published / 1.6 && ratio < published * 1.6);
    }
    return check_result();
}
