// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic between vector registers. Lanes outside of the mask become 0; only Duplicate and Cast can leave them.
#pragma once

#include <cmath>

#include "ascendc/reg_types.h"
#include "ascendc/select.h"
#include "ascendc/vector.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace Reg {
namespace impl {

template <class T>
constexpr bool is_bits = detail::is_summable<T> && std::is_integral_v<T>;
template <class T>
constexpr bool is_multiplied = detail::is_arithmetic<T> && !std::is_same_v<T, bfloat16_t>;  // by a scalar
template <class T>
constexpr bool is_signed = detail::is_any_of<T, half, float, int8_t, int16_t, int32_t>;
template <class T>
constexpr bool is_rectified = detail::is_any_of<T, half, float, int32_t>;

// Sets each lane of dst to f(lane) where the mask has its bit.
template <MaskMergeMode mode, class U, class F>
inline void for_lanes(U& dst, const MaskReg& mask, bool slow, F f) {
    using T = typename U::ActualT;
    static_assert(mode != MaskMergeMode::UNKNOWN, "mode: expected ZEROING or MERGING");
    count_instruction(slow);
    for (uint32_t lane = 0; lane < U::kLanes; lane++) {
        if (mask.test(lane * sizeof(T))) dst.set(lane, f(lane));
        else if (mode == MaskMergeMode::ZEROING) std::memset(dst.bytes + lane * sizeof(T), 0, sizeof(T));
    }
}

template <class Op, MaskMergeMode mode, class Named, class U>
inline void binary(U& dst, U& a, U& b, MaskReg& mask, bool slow = false) {
    using T = typename U::ActualT;
    static_assert(names_element<Named, U> && mode == MaskMergeMode::ZEROING,
                  "expected the register's element type, and ZEROING");
    for_lanes<mode>(dst, mask, slow, [&](uint32_t i) {
        return detail::narrow<T>(Op::of(detail::widen(a.get(i)), detail::widen(b.get(i))));
    });
}
template <class Op, MaskMergeMode mode, class Named, class U>
inline void unary(U& dst, U& a, MaskReg& mask, bool slow = false) {
    using T = typename U::ActualT;
    static_assert(names_element<Named, U> && mode == MaskMergeMode::ZEROING,
                  "expected the register's element type, and ZEROING");
    for_lanes<mode>(dst, mask, slow, [&](uint32_t i) { return detail::narrow<T>(Op::of(detail::widen(a.get(i)))); });
}
template <class Op, MaskMergeMode mode, class Named, class U, class Scalar>
inline void with_scalar(U& dst, U& a, Scalar scalar, MaskReg& mask) {
    using T = typename U::ActualT;
    static_assert(names_element<Named, U> && mode == MaskMergeMode::ZEROING,
                  "expected the register's element type, and ZEROING");
    static_assert(std::is_convertible_v<Scalar, T>, "scalarValue: expected what converts to the element type");
    const T value = static_cast<T>(scalar);
    for_lanes<mode>(dst, mask, false, [&](uint32_t i) {
        return detail::narrow<T>(Op::of(detail::widen(a.get(i)), detail::widen(value)));
    });
}

struct NegLane {
    template <class W>
    static W of(W a) {
        return static_cast<W>(-a);
    }
};
struct XorLane {
    template <class W>
    static W of(W a, W b) {
        return static_cast<W>(a ^ b);
    }
};
struct LeftLane {
    template <class W>
    static W of(W a, W b) {
        return static_cast<W>(static_cast<uint64_t>(a) << b);
    }
};
struct RightLane {
    template <class W>
    static W of(W a, W b) {
        return static_cast<W>(a >> b);
    }
};

}  // namespace impl

#define ACL_ATTN_SIM_REG_BINARY(Name, Op, slow, types)                                       \
    template <class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, class U>   \
    inline void Name(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {                     \
        static_assert(types<typename U::ActualT>, #Name ": expected a type that it is for"); \
        impl::binary<Op, mode, T>(dstReg, srcReg0, srcReg1, mask, slow);                     \
    }
ACL_ATTN_SIM_REG_BINARY(Add, detail::AddLane, false, detail::is_summable)
ACL_ATTN_SIM_REG_BINARY(Sub, detail::SubLane, false, detail::is_summable)
ACL_ATTN_SIM_REG_BINARY(Mul, detail::MulLane, false, detail::is_arithmetic)
ACL_ATTN_SIM_REG_BINARY(Div, detail::DivLane, true, detail::is_real)
ACL_ATTN_SIM_REG_BINARY(Max, detail::MaxLane, false, detail::is_summable)
ACL_ATTN_SIM_REG_BINARY(Min, detail::MinLane, false, detail::is_summable)
ACL_ATTN_SIM_REG_BINARY(And, detail::AndLane, false, impl::is_bits)
ACL_ATTN_SIM_REG_BINARY(Or, detail::OrLane, false, impl::is_bits)
ACL_ATTN_SIM_REG_BINARY(Xor, impl::XorLane, false, impl::is_bits)
#undef ACL_ATTN_SIM_REG_BINARY

#define ACL_ATTN_SIM_REG_UNARY(Name, Op, slow, types)                                        \
    template <class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, class U>   \
    inline void Name(U& dstReg, U& srcReg, MaskReg& mask) {                                  \
        static_assert(types<typename U::ActualT>, #Name ": expected a type that it is for"); \
        impl::unary<Op, mode, T>(dstReg, srcReg, mask, slow);                                \
    }
ACL_ATTN_SIM_REG_UNARY(Exp, detail::ExpLane, true, detail::is_real)
ACL_ATTN_SIM_REG_UNARY(Ln, detail::LnLane, true, detail::is_real)
ACL_ATTN_SIM_REG_UNARY(Sqrt, detail::SqrtLane, true, detail::is_real)
ACL_ATTN_SIM_REG_UNARY(Abs, detail::AbsLane, false, impl::is_signed)
ACL_ATTN_SIM_REG_UNARY(Relu, detail::ReluLane, false, impl::is_rectified)
ACL_ATTN_SIM_REG_UNARY(Neg, impl::NegLane, false, impl::is_signed)
ACL_ATTN_SIM_REG_UNARY(Not, detail::NotLane, false, impl::is_bits)
#undef ACL_ATTN_SIM_REG_UNARY

#define ACL_ATTN_SIM_REG_SCALAR(Name, Op, types)                                                    \
    template <class T = DefaultType, class U, MaskMergeMode mode = MaskMergeMode::ZEROING, class S> \
    inline void Name(S& dstReg, S& srcReg, U scalarValue, MaskReg& mask) {                          \
        static_assert(types<typename S::ActualT>, #Name ": expected a type that it is for");        \
        impl::with_scalar<Op, mode, T>(dstReg, srcReg, scalarValue, mask);                          \
    }
ACL_ATTN_SIM_REG_SCALAR(Adds, detail::AddLane, detail::is_summable)
ACL_ATTN_SIM_REG_SCALAR(Muls, detail::MulLane, impl::is_multiplied)
ACL_ATTN_SIM_REG_SCALAR(Maxs, detail::MaxLane, detail::is_summable)
ACL_ATTN_SIM_REG_SCALAR(Mins, detail::MinLane, detail::is_summable)
#undef ACL_ATTN_SIM_REG_SCALAR

#define ACL_ATTN_SIM_REG_SHIFT(Name, Op)                                                            \
    template <class T = DefaultType, class U, MaskMergeMode mode = MaskMergeMode::ZEROING, class S> \
    inline void Name(S& dstReg, S& srcReg, U scalarValue, MaskReg& mask) {                          \
        static_assert(impl::is_bits<typename S::ActualT> && std::is_same_v<U, int16_t>,             \
                      #Name ": expected integers, and the number of bits as int16_t");              \
        impl::with_scalar<Op, mode, T>(dstReg, srcReg, scalarValue, mask);                          \
    }
ACL_ATTN_SIM_REG_SHIFT(ShiftLefts, impl::LeftLane)
ACL_ATTN_SIM_REG_SHIFT(ShiftRights, impl::RightLane)
#undef ACL_ATTN_SIM_REG_SHIFT

// dst += src0 * src1
template <class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, class U>
inline void MulAddDst(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
    using E = typename U::ActualT;
    static_assert(impl::names_element<T, U> && mode == MaskMergeMode::ZEROING,
                  "MulAddDst: expected the registers' element type, ZEROING");
    static_assert(detail::is_any_of<E, half, bfloat16_t, float>, "MulAddDst: expected half, bfloat16_t or float");
    impl::for_lanes<mode>(dstReg, mask, false, [&](uint32_t i) {
        return detail::narrow<E>(
            std::fma(detail::widen(srcReg0.get(i)), detail::widen(srcReg1.get(i)), detail::widen(dstReg.get(i))));
    });
}
// dst = dst * src0 + src1
template <class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, class U>
inline void MulDstAdd(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
    static_assert(impl::names_element<T, U> && mode == MaskMergeMode::ZEROING,
                  "MulDstAdd: expected the registers' element type, ZEROING");
    using E = typename U::ActualT;
    impl::for_lanes<mode>(dstReg, mask, false, [&](uint32_t i) {
        return detail::narrow<E>(
            std::fma(detail::widen(dstReg.get(i)), detail::widen(srcReg0.get(i)), detail::widen(srcReg1.get(i))));
    });
}
// dst = exp(src0 - src1); of half sources those in the even (ZERO) or odd (ONE) lanes.
template <class T = DefaultType, class U = DefaultType, RegLayout layout = RegLayout::ZERO,
          MaskMergeMode mode = MaskMergeMode::ZEROING, class S, class V>
inline void ExpSub(S& dstReg, V& srcReg0, V& srcReg1, MaskReg& mask) {
    static_assert(impl::names_element<T, S> && impl::names_element<U, V>, "ExpSub: expected the registers' types");
    static_assert(mode == MaskMergeMode::ZEROING, "ExpSub: expected ZEROING");
    static_assert(std::is_same_v<typename S::ActualT, float>, "ExpSub: expected a result in float");
    constexpr bool kHalf = std::is_same_v<typename V::ActualT, half>;
    static_assert(kHalf || std::is_same_v<typename V::ActualT, float>, "ExpSub: expected sources of half or float");
    impl::for_lanes<mode>(dstReg, mask, true, [&](uint32_t i) {
        const uint32_t lane = kHalf ? 2 * i + (layout == RegLayout::ONE ? 1 : 0) : i;
        return std::exp(detail::widen(srcReg0.get(lane)) - detail::widen(srcReg1.get(lane)));
    });
}

template <class T = DefaultType, class U, class S>
inline void Duplicate(S& dstReg, U scalarValue) {
    MaskReg all = CreateMask<typename S::ActualT>();
    impl::for_lanes<MaskMergeMode::ZEROING>(dstReg, all, false,
                                            [&](uint32_t) { return static_cast<typename S::ActualT>(scalarValue); });
}
template <class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, class U, class S,
          std::enable_if_t<!std::is_same_v<U, S>, int> = 0>
inline void Duplicate(S& dstReg, U scalarValue, MaskReg& mask) {
    impl::for_lanes<mode>(dstReg, mask, false, [&](uint32_t) { return static_cast<typename S::ActualT>(scalarValue); });
}
// The lowest (or highest) lane of srcReg to all.
template <class T = DefaultType, HighLowPart pos = HighLowPart::LOWEST, MaskMergeMode mode = MaskMergeMode::ZEROING,
          class S>
inline void Duplicate(S& dstReg, S& srcReg, MaskReg& mask) {
    const auto value = srcReg.get(pos == HighLowPart::LOWEST ? 0 : S::kLanes - 1);
    impl::for_lanes<mode>(dstReg, mask, false, [&](uint32_t) { return value; });
}

// scalarValue, scalarValue + 1, ... or downwards
template <class T = DefaultType, IndexOrder order = IndexOrder::INCREASE_ORDER, class U, class S>
inline void Arange(S& dstReg, U scalarValue) {
    using E = typename S::ActualT;
    MaskReg all = CreateMask<E>();
    impl::for_lanes<MaskMergeMode::ZEROING>(dstReg, all, false, [&](uint32_t i) {
        using W = detail::Wide<E>;
        const W step = static_cast<W>(i);
        const W first = static_cast<W>(scalarValue);
        return detail::narrow<E>(static_cast<W>(order == IndexOrder::INCREASE_ORDER ? first + step : first - step));
    });
}

template <class T = DefaultType, CMPMODE mode = CMPMODE::EQ, class U>
inline void Compare(MaskReg& dst, U& srcReg0, U& srcReg1, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "Compare: expected the registers' element type");
    using E = typename U::ActualT;
    impl::count_instruction();
    MaskReg result;
    for (uint32_t i = 0; i < U::kLanes; i++) {
        const bool holds = detail::compare_values(detail::widen(srcReg0.get(i)), detail::widen(srcReg1.get(i)), mode);
        result.assign(i * sizeof(E), mask.test(i * sizeof(E)) && holds);
    }
    dst = result;
}
template <class T = DefaultType, CMPMODE mode = CMPMODE::EQ, class U, class S>
inline void Compares(MaskReg& dst, U& srcReg, S scalarValue, MaskReg& mask) {
    U scalar;
    for (uint32_t i = 0; i < U::kLanes; i++) scalar.set(i, static_cast<typename U::ActualT>(scalarValue));
    Compare<T, mode>(dst, srcReg, scalar, mask);
}
// Lanes of src0 where the mask has a bit, else of src1.
template <class T = DefaultType, class U>
inline void Select(U& dstReg, U& srcReg0, U& srcReg1, MaskReg& mask) {
    static_assert(impl::names_element<T, U>, "Select: expected the registers' element type");
    using E = typename U::ActualT;
    impl::count_instruction();
    for (uint32_t i = 0; i < U::kLanes; i++) dstReg.set(i, mask.test(i * sizeof(E)) ? srcReg0.get(i) : srcReg1.get(i));
}

namespace impl {
template <class U>
inline void reduce(AscendC::ReduceType type, U& dst, const U& src, const MaskReg& mask, uint32_t groups) {
    using T = typename U::ActualT;
    static_assert(detail::is_any_of<T, half, float>, "reduction: expected half or float");
    count_instruction(true);
    U result;
    std::memset(result.bytes, 0, sizeof result.bytes);
    const uint32_t each = U::kLanes / groups;
    for (uint32_t group = 0; group < groups; group++) {
        bool any = false;
        float value = 0;
        uint32_t index = 0;
        for (uint32_t i = group * each; i < (group + 1) * each; i++) {
            if (!mask.test(i * sizeof(T))) continue;
            const float next = detail::widen(src.get(i));
            const bool takes = !any || (type == AscendC::ReduceType::MAX ? next > value : next < value) || next != next;
            if (type == AscendC::ReduceType::SUM) value = any ? value + next : next;
            else if (takes) value = next, index = i;
            any = true;
        }
        if (!any) continue;
        result.set(group, detail::narrow<T>(value));
        if (groups == 1 && type != AscendC::ReduceType::SUM) std::memcpy(result.bytes + sizeof(T), &index, sizeof(T));
    }
    dst = result;
}
}  // namespace impl

// To lane 0; of MAX and MIN the index to lane 1.
template <ReduceType type = ReduceType::SUM, class T = DefaultType, class U = DefaultType,
          MaskMergeMode mode = MaskMergeMode::ZEROING, class S, class V>
inline void Reduce(S& dstReg, V srcReg, MaskReg mask) {
    static_assert(std::is_same_v<S, V>, "Reduce: a result of another type is not supported yet");
    static_assert(impl::names_element<T, S> && impl::names_element<U, V>, "Reduce: expected the registers' types");
    static_assert(mode == MaskMergeMode::ZEROING, "Reduce: expected ZEROING");
    impl::reduce(type, dstReg, srcReg, mask, 1);
}
// One result per block of 32 bytes, to lanes 0 to 7.
template <ReduceType type = ReduceType::SUM, class T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING,
          class U>
inline void ReduceDataBlock(U& dstReg, U srcReg, MaskReg mask) {
    static_assert(impl::names_element<T, U>, "ReduceDataBlock: expected the registers' element type");
    impl::reduce(type, dstReg, srcReg, mask, 8);
}

template <class T = DefaultType, class U>
inline void Interleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1) {
    static_assert(impl::names_element<T, U>, "Interleave: expected the registers' element type");
    impl::count_instruction();
    U low, high;
    for (uint32_t i = 0; i < U::kLanes / 2; i++) {
        low.set(2 * i, srcReg0.get(i)), low.set(2 * i + 1, srcReg1.get(i));
        high.set(2 * i, srcReg0.get(U::kLanes / 2 + i)), high.set(2 * i + 1, srcReg1.get(U::kLanes / 2 + i));
    }
    dstReg0 = low, dstReg1 = high;
}
template <class T = DefaultType, class U>
inline void DeInterleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1) {
    static_assert(impl::names_element<T, U>, "DeInterleave: expected the registers' element type");
    impl::count_instruction();
    U even, odd;
    for (uint32_t i = 0; i < U::kLanes / 2; i++) {
        even.set(i, srcReg0.get(2 * i)), odd.set(i, srcReg0.get(2 * i + 1));
        even.set(U::kLanes / 2 + i, srcReg1.get(2 * i)), odd.set(U::kLanes / 2 + i, srcReg1.get(2 * i + 1));
    }
    dstReg0 = even, dstReg1 = odd;
}

// Between types of different size, the narrow elements lie in every second (or fourth) lane: the layout says in which.
// The mask counts by the wide side. Narrow lanes that the layout leaves out become 0.
template <class T = DefaultType, class U = DefaultType, const CastTrait& trait = castTrait, class S, class V>
inline void Cast(S& dstReg, V& srcReg, MaskReg& mask) {
    using D = typename S::ActualT;
    using E = typename V::ActualT;
    static_assert(impl::names_element<T, S> && impl::names_element<U, V>, "Cast: expected the registers' types");
    static_assert(detail::cast_roundings<D, E>() != 0 && !std::is_same_v<D, E>,
                  "Cast: expected a pair of types that this chip converts");
    static_assert(trait.mrgMode == MaskMergeMode::ZEROING ||
                      (trait.mrgMode == MaskMergeMode::MERGING && trait.layoutMode == RegLayout::ZERO),
                  "Cast: expected ZEROING, or MERGING with layout ZERO");
    constexpr RoundMode kRound = trait.roundMode == RoundMode::UNKNOWN ? RoundMode::CAST_NONE : trait.roundMode;
    static_assert((detail::cast_roundings<D, E>() & detail::round_bit(kRound)) != 0,
                  "Cast: expected a rounding that this pair of types has");
    constexpr uint32_t kWide = sizeof(D) > sizeof(E) ? sizeof(D) : sizeof(E);
    constexpr uint32_t kPart = trait.layoutMode == RegLayout::UNKNOWN ? 0 : static_cast<uint32_t>(trait.layoutMode);
    static_assert(sizeof(D) == sizeof(E) || trait.layoutMode != RegLayout::UNKNOWN,
                  "Cast: expected a layout between types of different size");
    static_assert(kPart * (sizeof(D) < sizeof(E) ? sizeof(D) : sizeof(E)) < kWide, "Cast: expected a layout that fits");
    impl::count_instruction();
    S result = dstReg;
    if (trait.mrgMode != MaskMergeMode::MERGING) std::memset(result.bytes, 0, sizeof result.bytes);
    for (uint32_t slot = 0; slot < kRegBytes / kWide; slot++) {
        if (!mask.test(slot * kWide)) continue;
        const uint32_t from = slot * (kWide / sizeof(E)) + (sizeof(E) < kWide ? kPart : 0);
        const uint32_t to = slot * (kWide / sizeof(D)) + (sizeof(D) < kWide ? kPart : 0);
        result.set(to, detail::convert<D, E>(srcReg.get(from), kRound));
    }
    dstReg = result;
}

}  // namespace Reg
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
