// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What single calls of the kernel API compute: conversions, copies with padding, masks and strides, reductions, cube
// formats of 8-bit types, vector registers. Expected values are written out or made by a loop over plain numbers.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sim_support.h"

namespace {

using namespace AscendC;
using namespace sim_test;

template <class T>
LocalTensor<T> in_ub(uint32_t address, uint32_t elements) {
    return LocalTensor<T>(TPosition::VECCALC, address, elements);
}

// Runs `body` on one vector core between a load of `in` to UB byte 0 and a store of `out` from UB byte 65536.
template <class In, class Out, class Body>
std::vector<Out> through_ub(std::vector<In> in, size_t results, Body body) {
    std::vector<Out> out(results);
    expect_clean("call in UB", checked(), [&] {
        InitSocState();
        if ASCEND_IS_AIV {
            if (GetSubBlockIdx() == 0) {
                GlobalTensor<uint8_t> source, target;
                source.SetGlobalBuffer(reinterpret_cast<uint8_t*>(in.data()), in.size() * sizeof(In));
                target.SetGlobalBuffer(reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(Out));
                DataCopyExtParams load, store;
                load.blockLen = static_cast<uint32_t>(in.size() * sizeof(In));
                store.blockLen = static_cast<uint32_t>(out.size() * sizeof(Out));
                DataCopyPad(in_ub<uint8_t>(0, 65536), source, load, DataCopyPadExtParams<uint8_t>());
                PipeBarrier<PIPE_ALL>();
                body();
                PipeBarrier<PIPE_ALL>();
                DataCopyPad(target, in_ub<uint8_t>(65536, 65536), store);
            }
        }
        PipeBarrier<PIPE_ALL>();
    });
    return out;
}

template <class D, class S>
std::vector<D> cast_all(const std::vector<S>& in, RoundMode mode) {
    const uint32_t count = static_cast<uint32_t>(in.size());
    return through_ub<S, D>(in, count, [&] { Cast(in_ub<D>(65536, count), in_ub<S>(0, count), mode, count); });
}

void test_casts() {
    const std::vector<float> in = {2.5f, -2.5f, 3.5f, 0.49f, -0.5f, 1e10f, -1e10f, std::nanf("")};
    const auto check_row = [&](RoundMode mode, const std::vector<int32_t>& want) {
        const std::vector<int32_t> got = cast_all<int32_t>(in, mode);
        for (size_t i = 0; i < want.size(); i++) CHECK_EQUAL(got[i], want[i]);
    };
    const int32_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    check_row(RoundMode::CAST_RINT, {2, -2, 4, 0, 0, high, low, 0});
    check_row(RoundMode::CAST_FLOOR, {2, -3, 3, 0, -1, high, low, 0});
    check_row(RoundMode::CAST_CEIL, {3, -2, 4, 1, 0, high, low, 0});
    check_row(RoundMode::CAST_ROUND, {3, -3, 4, 0, -1, high, low, 0});
    check_row(RoundMode::CAST_TRUNC, {2, -2, 3, 0, 0, high, low, 0});

    // 1 + 2^-11 and 1 + 3 * 2^-11 lie half-way between numbers of half; 1e-7 is below its smallest normal number.
    const std::vector<float> fine = {1.00048828125f, 1.00146484375f, -1.00048828125f, 1e-7f, 70000.0f};
    const auto half_row = [&](RoundMode mode, const std::vector<uint16_t>& want) {
        const std::vector<half> got = cast_all<half>(fine, mode);
        for (size_t i = 0; i < want.size(); i++) CHECK_EQUAL(got[i].code, want[i]);
    };
    half_row(RoundMode::CAST_RINT, {0x3c00, 0x3c02, 0xbc00, 0x0002, 0x7c00});
    half_row(RoundMode::CAST_NONE, {0x3c00, 0x3c02, 0xbc00, 0x0002, 0x7c00});
    half_row(RoundMode::CAST_FLOOR, {0x3c00, 0x3c01, 0xbc01, 0x0001});
    half_row(RoundMode::CAST_CEIL, {0x3c01, 0x3c02, 0xbc00, 0x0002});
    half_row(RoundMode::CAST_ROUND, {0x3c01, 0x3c02, 0xbc01, 0x0002});
    half_row(RoundMode::CAST_TRUNC, {0x3c00, 0x3c01, 0xbc00, 0x0001});
    half_row(RoundMode::CAST_ODD, {0x3c01, 0x3c01, 0xbc01, 0x0001});

    const std::vector<bfloat16_t> narrow =
        cast_all<bfloat16_t>(std::vector<float>{1.00390625f, -3.5f}, RoundMode::CAST_RINT);
    CHECK_EQUAL(narrow[0].code, 0x3f80);
    CHECK_EQUAL(narrow[1].code, 0xc060);

    const std::vector<half> widened = through_ub<uint8_t, half>(
        {0x21, 0x87}, 4, [] { Cast(in_ub<half>(65536, 4), in_ub<int4b_t>(0, 4), RoundMode::CAST_NONE, 4); });
    const float nibbles[] = {1, 2, 7, -8};
    for (int i = 0; i < 4; i++) CHECK(static_cast<float>(widened[i]) == nibbles[i]);
    const std::vector<uint8_t> packed = through_ub<half, uint8_t>({half(1), half(2), half(7), half(-8)}, 2, [] {
        Cast(in_ub<int4b_t>(65536, 4), in_ub<half>(0, 4), RoundMode::CAST_RINT, 4);
    });
    CHECK_EQUAL(packed[0], 0x21);
    CHECK_EQUAL(packed[1], 0x87);
    const std::vector<half> bytes = cast_all<half>(std::vector<int8_t>{-128, 127, 5}, RoundMode::CAST_NONE);
    CHECK(static_cast<float>(bytes[0]) == -128.0f && static_cast<float>(bytes[1]) == 127.0f);

    // In the mask form a repeat covers 64 elements of both, which are 256 bytes of float and 128 of half.
    std::vector<float> many(128);
    for (uint32_t i = 0; i < 128; i++) many[i] = static_cast<float>(i);
    UnaryRepeatParams params;
    params.dstRepStride = 4;
    const std::vector<half> masked = through_ub<float, half>(many, 128, [&] {
        Cast(in_ub<half>(65536, 128), in_ub<float>(0, 128), RoundMode::CAST_RINT, uint64_t{64}, 2, params);
    });
    for (uint32_t i = 0; i < 128; i++) CHECK(static_cast<float>(masked[i]) == many[i]);
}

void test_padding() {
    std::vector<float> rows(3 * 5);
    for (uint32_t i = 0; i < rows.size(); i++) rows[i] = static_cast<float>(i + 1);
    std::vector<float> out(24);
    for (bool pad : {false, true}) {
        expect_clean("padding", checked(), [&] {
            InitSocState();
            if ASCEND_IS_AIV {
                if (GetSubBlockIdx() == 0) {
                    GlobalTensor<float> source, target;
                    source.SetGlobalBuffer(rows.data(), rows.size());
                    target.SetGlobalBuffer(out.data(), out.size());
                    DataCopyExtParams params;
                    params.blockCount = 3;
                    params.blockLen = 5 * 4;
                    DataCopyPadExtParams<float> filler;
                    filler.isPad = pad;
                    filler.leftPadding = pad ? 1 : 0;
                    filler.paddingValue = -7.0f;
                    DataCopyPad(in_ub<float>(0, 24), source, params, filler);
                    PipeBarrier<PIPE_ALL>();
                    DataCopy(target, in_ub<float>(0, 24), 24);
                }
            }
            PipeBarrier<PIPE_ALL>();
        });
        for (uint32_t row = 0; row < 3; row++) {
            const float* got = out.data() + row * 8;
            const float first = rows[row * 5];
            CHECK(got[pad ? 1 : 0] == first && got[pad ? 5 : 4] == first + 4);
            CHECK(got[7] == (pad ? -7.0f : first));  // without isPad the filler is the row's first element
            if (pad) CHECK(got[0] == -7.0f && got[6] == -7.0f);
        }
    }
}

void test_masks_and_reductions() {
    std::vector<float> in(256);
    for (uint32_t i = 0; i < in.size(); i++) in[i] = static_cast<float>((i * 29) % 64) - 20.0f;
    // Every third element of each repeat; the others stay.
    std::vector<float> got = through_ub<float, float>(in, 256, [] {
        Duplicate(in_ub<float>(65536, 256), 9.0f, 256);
        PipeBarrier<PIPE_V>();
        uint64_t bits[2] = {0x9249249249249249u, 0};
        Adds(in_ub<float>(65536, 256), in_ub<float>(0, 256), 1.0f, bits, 4, UnaryRepeatParams());
    });
    for (uint32_t i = 0; i < 256; i++) CHECK(got[i] == (i % 64 % 3 == 0 ? in[i] + 1.0f : 9.0f));

    // Maximum and its index of 50 of each 64, then sums of blocks.
    got = through_ub<float, float>(
        in, 8, [] { WholeReduceMax<float>(in_ub<float>(65536, 8), in_ub<float>(0, 256), 50, 4, 1, 1, 8); });
    for (uint32_t repeat = 0; repeat < 4; repeat++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < 50; i++) best = in[repeat * 64 + i] > in[repeat * 64 + best] ? i : best;
        uint32_t index;
        std::memcpy(&index, &got[repeat * 2 + 1], 4);
        CHECK(got[repeat * 2] == in[repeat * 64 + best]);
        CHECK_EQUAL(index, best);
    }
    got = through_ub<float, float>(
        in, 32, [] { BlockReduceSum<float>(in_ub<float>(65536, 32), in_ub<float>(0, 256), 4, 64, 1, 1, 8); });
    for (uint32_t block = 0; block < 32; block++) {
        float sum = 0;
        for (uint32_t i = 0; i < 8; i++) sum += in[block * 8 + i];
        CHECK(got[block] == sum);
    }
    // Bits of a comparison choose.
    got = through_ub<float, float>(in, 128, [] {
        Compares(in_ub<uint8_t>(32768, 32), in_ub<float>(0, 256), 3.0f, CMPMODE::GE, 128);
        PipeBarrier<PIPE_V>();
        Select(in_ub<float>(65536, 128), in_ub<uint8_t>(32768, 32), in_ub<float>(0, 256), -100.0f,
               SELMODE::VSEL_TENSOR_SCALAR_MODE, 128);
    });
    for (uint32_t i = 0; i < 128; i++) CHECK(got[i] == (in[i] >= 3.0f ? in[i] : -100.0f));
    // Elements by byte offsets, in reverse.
    got = through_ub<float, float>(in, 64, [] {
        CreateVecIndex(in_ub<int32_t>(32768, 64), 0, 64);
        PipeBarrier<PIPE_V>();
        Muls(in_ub<int32_t>(32768, 64), in_ub<int32_t>(32768, 64), -4, 64);
        PipeBarrier<PIPE_V>();
        Adds(in_ub<int32_t>(32768, 64), in_ub<int32_t>(32768, 64), 63 * 4, 64);
        PipeBarrier<PIPE_V>();
        Gather(in_ub<float>(65536, 64), in_ub<float>(0, 256), in_ub<int32_t>(32768, 64).ReinterpretCast<uint32_t>(), 0,
               64);
    });
    for (uint32_t i = 0; i < 64; i++) CHECK(got[i] == in[63 - i]);
}

// C (int32 or float) = A B for 8-bit types, B given as rows of k: [k][n].
template <class T, class C>
void test_narrow_product(uint32_t m, uint32_t n, uint32_t k, T (*make)(int)) {
    std::vector<T> a(m * k), b(k * n);
    std::vector<C> c(m * n);
    for (uint32_t i = 0; i < a.size(); i++) a[i] = make(static_cast<int>(i * 7 % 15) - 7);
    for (uint32_t i = 0; i < b.size(); i++) b[i] = make(static_cast<int>(i * 5 % 13) - 6);
    expect_clean("product of 8-bit types", checked(), [&] {
        InitSocState();
        if ASCEND_IS_AIC {
            LocalTensor<T> a1(TPosition::A1, 0, 65536), b1(TPosition::B1, 65536, 65536);
            LocalTensor<T> a2(TPosition::A2, 0, 65536), b2(TPosition::B2, 0, 65536);
            LocalTensor<C> c1(TPosition::CO1, 0, 16384);
            GlobalTensor<T> ga, gb;
            GlobalTensor<C> gc;
            ga.SetGlobalBuffer(a.data(), a.size());
            gb.SetGlobalBuffer(b.data(), b.size());
            gc.SetGlobalBuffer(c.data(), c.size());
            Nd2NzParams load;
            load.ndNum = 1;
            load.dstNzNStride = 1;
            load.nValue = static_cast<uint16_t>(m);
            load.dValue = static_cast<uint16_t>(k);
            load.srcDValue = static_cast<uint16_t>(k);
            load.dstNzC0Stride = static_cast<uint16_t>(m);
            DataCopy(a1, ga, load);
            load.nValue = static_cast<uint16_t>(k);
            load.dValue = static_cast<uint16_t>(n);
            load.srcDValue = static_cast<uint16_t>(n);
            load.dstNzC0Stride = static_cast<uint16_t>(k);
            DataCopy(b1, gb, load);
            PipeBarrier<PIPE_ALL>();
#if __NPU_ARCH__ == 2201
            LoadData2DParams rows;
            for (uint32_t row = 0; row < m / 16; row++) {
                rows.startIndex = static_cast<uint16_t>(row);
                rows.repeatTimes = static_cast<uint8_t>(k / 32);
                rows.srcStride = static_cast<uint16_t>(m / 16);
                LoadData(a2[row * (k / 32) * 512], a1, rows);
            }
            if constexpr (sizeof(T) == 1) {
                LoadData2dTransposeParams squares;
                for (uint32_t row = 0; row < k / 32; row++) {
                    squares.startIndex = static_cast<uint16_t>(row);
                    squares.repeatTimes = static_cast<uint8_t>(n / 32);
                    squares.srcStride = static_cast<uint16_t>(k / 32);
                    squares.dstGap = 1;
                    LoadDataWithTranspose(b2[row * (n / 16) * 512], b1, squares);
                }
            }
#else
            LoadData2DParamsV2 whole;
            whole.mStep = static_cast<uint16_t>(m / 16);
            whole.kStep = static_cast<uint16_t>(k / 32);
            whole.srcStride = static_cast<int32_t>(m / 16);
            whole.dstStride = static_cast<uint16_t>(m / 16);
            LoadData(a2, a1, whole);
            whole.mStep = static_cast<uint16_t>(k / 16);
            whole.kStep = static_cast<uint16_t>(n / 32);
            whole.srcStride = static_cast<int32_t>(k / 16);
            whole.dstStride = static_cast<uint16_t>(n / 16);
            whole.ifTranspose = true;
            LoadData(b2, b1, whole);
#endif
            PipeBarrier<PIPE_ALL>();
            MmadParams params;
            params.m = static_cast<uint16_t>(m);
            params.n = static_cast<uint16_t>(n);
            params.k = static_cast<uint16_t>(k);
            Mmad(c1, a2, b2, params);
            PipeBarrier<PIPE_ALL>();
#if __NPU_ARCH__ == 2201
            FixpipeParamsV220 outlet;
#else
            FixpipeParamsArch3510<CO2Layout::ROW_MAJOR> outlet;
#endif
            outlet.mSize = static_cast<uint16_t>(m);
            outlet.nSize = static_cast<uint16_t>(n);
            outlet.srcStride = static_cast<uint16_t>(m);
            outlet.dstStride = n;
            Fixpipe<C, C, CFG_ROW_MAJOR>(gc, c1, outlet);
        }
        PipeBarrier<PIPE_ALL>();
    });
    int wrong = 0;
    for (uint32_t row = 0; row < m; row++) {
        for (uint32_t column = 0; column < n; column++) {
            double sum = 0;
            for (uint32_t i = 0; i < k; i++) {
                sum += static_cast<double>(detail::widen(a[row * k + i])) *
                       static_cast<double>(detail::widen(b[i * n + column]));
            }
            if (static_cast<double>(c[row * n + column]) != sum) wrong++;
        }
    }
    CHECK_EQUAL(wrong, 0);
}

#if __NPU_ARCH__ == 3510
constexpr Reg::CastTrait kNarrowLow = {Reg::RegLayout::ZERO, Reg::SatMode::NO_SAT, Reg::MaskMergeMode::ZEROING,
                                       RoundMode::CAST_RINT};
constexpr Reg::CastTrait kWidenOdd = {Reg::RegLayout::ONE, Reg::SatMode::UNKNOWN, Reg::MaskMergeMode::ZEROING,
                                      RoundMode::UNKNOWN};

// Rows of 64: subtract the maximum, exp, as half behind each other; and the sums.
__simd_vf__ inline void softmax_rows(__ubuf__ half* out, __ubuf__ float* sums, __ubuf__ float* in, uint16_t rows) {
    Reg::RegTensor<float> row, top, sum;
    Reg::RegTensor<half> narrow;
    Reg::MaskReg all = Reg::CreateMask<float>();
    for (uint16_t i = 0; i < rows; i++) {
        Reg::LoadAlign<float, Reg::PostLiteral::POST_MODE_UPDATE>(row, in, 64);
        Reg::Reduce<Reg::ReduceType::MAX>(top, row, all);
        Reg::Duplicate(top, top, all);
        Reg::ExpSub(row, row, top, all);
        Reg::Reduce<Reg::ReduceType::SUM>(sum, row, all);
        Reg::Cast<half, float, kNarrowLow>(narrow, row, all);
        Reg::StoreAlign<half, Reg::StoreDist::DIST_PACK_B32>(out + i * 64, narrow, all);
        Reg::StoreAlign<float, Reg::StoreDist::DIST_FIRST_ELEMENT_B32>(sums + i, sum, all);
    }
}

__simd_vf__ inline void odd_halves(__ubuf__ float* out, __ubuf__ half* in, uint32_t count) {
    Reg::RegTensor<half> both;
    Reg::RegTensor<float> odd;
    Reg::MaskReg mask = Reg::UpdateMask<float>(count);
    Reg::LoadAlign(both, in);
    Reg::MaskReg all = Reg::CreateMask<float>();
    Reg::Cast<float, half, kWidenOdd>(odd, both, all);
    Reg::Muls(odd, odd, 2.0f, mask);
    Reg::StoreAlign(out, odd, all);
}

void test_registers() {
    std::vector<float> in(8 * 64);
    for (uint32_t i = 0; i < in.size(); i++) in[i] = static_cast<float>(i * 31 % 47) / 8.0f;
    const std::vector<half> got = through_ub<float, half>(in, 8 * 64 + 16, [] {
        asc_vf_call<softmax_rows>((__ubuf__ half*)in_ub<half>(65536, 512).GetPhyAddr(),
                                  (__ubuf__ float*)in_ub<float>(65536 + 1024, 8).GetPhyAddr(),
                                  (__ubuf__ float*)in_ub<float>(0, 512).GetPhyAddr(), static_cast<uint16_t>(8));
    });
    for (uint32_t row = 0; row < 8; row++) {
        float top = -INFINITY, sum = 0, stored;
        for (uint32_t i = 0; i < 64; i++) top = std::max(top, in[row * 64 + i]);
        for (uint32_t i = 0; i < 64; i++) {
            const float value = std::exp(in[row * 64 + i] - top);
            sum += value;
            CHECK(std::fabs(static_cast<float>(got[row * 64 + i]) - value) < 1e-3f);
        }
        std::memcpy(&stored, &got[512 + row * 2], 4);
        CHECK(std::fabs(stored - sum) < 1e-4f * sum);
    }
    std::vector<half> halves(128);
    for (uint32_t i = 0; i < 128; i++) halves[i] = half(static_cast<float>(i));
    const std::vector<float> odd = through_ub<half, float>(halves, 64, [] {
        asc_vf_call<odd_halves>((__ubuf__ float*)in_ub<float>(65536, 64).GetPhyAddr(),
                                (__ubuf__ half*)in_ub<half>(0, 128).GetPhyAddr(), 10u);
    });
    for (uint32_t i = 0; i < 64; i++) CHECK(odd[i] == (i < 10 ? 2.0f * static_cast<float>(2 * i + 1) : 0.0f));
}
#endif

}  // namespace

int main() {
    test_casts();
    test_padding();
    test_masks_and_reductions();
    test_narrow_product<int8_t, int32_t>(32, 64, 96, [](int value) { return static_cast<int8_t>(value); });
#if __NPU_ARCH__ == 3510
    test_narrow_product<fp8_e4m3fn_t, float>(
        32, 64, 96, [](int value) { return fp8_e4m3fn_t{acl_attn::formats::encode_e4m3(static_cast<float>(value))}; });
    test_narrow_product<hifloat8_t, float>(48, 32, 64, [](int value) {
        return hifloat8_t{acl_attn::formats::encode_hifloat8(static_cast<float>(value))};
    });
    test_registers();
#endif
    return check_result();
}
