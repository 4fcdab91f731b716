// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector arithmetic in memory form. Each function has three shapes: a count, the first `mask` elements of each repeat,
// or a bit mask. Types are those of the vendor's table for the chip; others do not compile.
#pragma once

#include <cmath>

#include "ascendc/vector_walk.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

#if __NPU_ARCH__ == 3510
template <class T>
constexpr bool is_arithmetic = is_any_of<T, half, float, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t>;
template <class T>  // by a count; the masked forms have no 8-bit types
constexpr bool is_summable = is_arithmetic<T> || is_any_of<T, int8_t, uint8_t>;
template <class T>  // with a number
constexpr bool is_scalable = is_any_of<T, half, float, bfloat16_t, int16_t, int32_t>;
template <class T>
constexpr bool is_bitwise = is_any_of<T, int16_t, uint16_t, int32_t, uint32_t>;
#else
template <class T>
constexpr bool is_arithmetic = is_any_of<T, half, float, int16_t, int32_t>;
template <class T>
constexpr bool is_summable = is_arithmetic<T>;
template <class T>
constexpr bool is_scalable = is_arithmetic<T>;
template <class T>
constexpr bool is_bitwise = is_any_of<T, int16_t, uint16_t>;
#endif
template <class T>
constexpr bool is_real = is_any_of<T, half, float>;
template <class T>
constexpr bool is_shiftable = is_any_of<T, int16_t, uint16_t, int32_t, uint32_t>;

// Of two numbers, as the vector unit does it: NaN wins.
template <class W>
inline W larger(W a, W b) {
    return a > b || a != a ? a : b;
}
template <class W>
inline W smaller(W a, W b) {
    return a < b || a != a ? a : b;
}

// Integers wrap around.
template <class W, class F>
inline W arithmetic(W a, W b, F f) {
    if constexpr (std::is_integral_v<W>) return static_cast<W>(f(static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
    else return f(a, b);
}

struct AddLane {
    template <class W>
    static W of(W a, W b) {
        return arithmetic(a, b, [](auto x, auto y) { return x + y; });
    }
};
struct SubLane {
    template <class W>
    static W of(W a, W b) {
        return arithmetic(a, b, [](auto x, auto y) { return x - y; });
    }
};
struct MulLane {
    template <class W>
    static W of(W a, W b) {
        return arithmetic(a, b, [](auto x, auto y) { return x * y; });
    }
};
struct DivLane {
    template <class W>
    static W of(W a, W b) {
        return a / b;
    }
};
struct MaxLane {
    template <class W>
    static W of(W a, W b) {
        return larger(a, b);
    }
};
struct MinLane {
    template <class W>
    static W of(W a, W b) {
        return smaller(a, b);
    }
};
struct AndLane {
    template <class W>
    static W of(W a, W b) {
        return static_cast<W>(a & b);
    }
};
struct OrLane {
    template <class W>
    static W of(W a, W b) {
        return static_cast<W>(a | b);
    }
};
struct ExpLane {
    template <class W>
    static W of(W a) {
        return std::exp(a);
    }
};
struct LnLane {
    template <class W>
    static W of(W a) {
        return std::log(a);
    }
};
struct SqrtLane {
    template <class W>
    static W of(W a) {
        return std::sqrt(a);
    }
};
struct AbsLane {
    template <class W>
    static W of(W a) {
        return static_cast<W>(a < 0 ? -a : a);
    }
};
struct ReluLane {
    template <class W>
    static W of(W a) {
        return larger(a, W{0});
    }
};
struct NotLane {
    template <class W>
    static W of(W a) {
        return static_cast<W>(~a);
    }
};

template <class Op, class T>
inline void binary(const char* name, bool slow, const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                   const LocalTensor<T>& src1, const Lanes& lanes, const BinaryRepeatParams& params) {
    elementwise<T>(
        name, slow, lanes, dst, Strides{params.dstBlkStride, params.dstRepStride}, false,
        [](T* d, const T* a, const T* b) { *d = narrow<T>(Op::of(widen(*a), widen(*b))); },
        Source<T>{src0, {params.src0BlkStride, params.src0RepStride}},
        Source<T>{src1, {params.src1BlkStride, params.src1RepStride}});
}

template <class Op, class T>
inline void unary(const char* name, bool slow, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Lanes& lanes,
                  const UnaryRepeatParams& params) {
    elementwise<T>(
        name, slow, lanes, dst, Strides{params.dstBlkStride, params.dstRepStride}, false,
        [](T* d, const T* a) { *d = narrow<T>(Op::of(widen(*a))); },
        Source<T>{src, {params.srcBlkStride, params.srcRepStride}});
}

template <class Op, class T>
inline void with_scalar(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, T scalar,
                        const Lanes& lanes, const UnaryRepeatParams& params) {
    elementwise<T>(
        name, false, lanes, dst, Strides{params.dstBlkStride, params.dstRepStride}, false,
        [scalar](T* d, const T* a) { *d = narrow<T>(Op::of(widen(*a), widen(scalar))); },
        Source<T>{src, {params.srcBlkStride, params.srcRepStride}});
}

}  // namespace detail

#define ACL_ATTN_SIM_BINARY(Name, Op, slow, types, counted)                                                            \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                \
                     uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {              \
        static_assert(types<T>, #Name ": expected a type that this chip has it for");                                  \
        detail::binary<Op>(#Name, slow, dst, src0, src1, detail::Lanes::of_bits(mask, repeatTime), repeatParams);      \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, \
                     const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {                               \
        static_assert(types<T>, #Name ": expected a type that this chip has it for");                                  \
        detail::binary<Op>(#Name, slow, dst, src0, src1, detail::Lanes::of_mask(mask, repeatTime), repeatParams);      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                \
                     const int32_t& count) {                                                                           \
        static_assert(counted<T>, #Name ": expected a type that this chip has it for");                                \
        detail::binary<Op>(#Name, slow, dst, src0, src1, detail::Lanes::of_count(count), BinaryRepeatParams());        \
    }

ACL_ATTN_SIM_BINARY(Add, detail::AddLane, false, detail::is_arithmetic, detail::is_summable)
ACL_ATTN_SIM_BINARY(Sub, detail::SubLane, false, detail::is_arithmetic, detail::is_summable)
ACL_ATTN_SIM_BINARY(Mul, detail::MulLane, false, detail::is_arithmetic, detail::is_arithmetic)
ACL_ATTN_SIM_BINARY(Div, detail::DivLane, true, detail::is_real, detail::is_real)
ACL_ATTN_SIM_BINARY(Max, detail::MaxLane, false, detail::is_arithmetic, detail::is_summable)
ACL_ATTN_SIM_BINARY(Min, detail::MinLane, false, detail::is_arithmetic, detail::is_summable)
ACL_ATTN_SIM_BINARY(And, detail::AndLane, false, detail::is_bitwise, detail::is_bitwise)
ACL_ATTN_SIM_BINARY(Or, detail::OrLane, false, detail::is_bitwise, detail::is_bitwise)
#undef ACL_ATTN_SIM_BINARY

#define ACL_ATTN_SIM_UNARY(Name, Op, slow, types)                                                                     \
    template <class T, bool isSetMask = true>                                                                         \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime, \
                     const UnaryRepeatParams& repeatParams) {                                                         \
        static_assert(types<T>, #Name ": expected a type that this chip has it for");                                 \
        detail::unary<Op>(#Name, slow, dst, src, detail::Lanes::of_bits(mask, repeatTime), repeatParams);             \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,   \
                     const UnaryRepeatParams& repeatParams) {                                                         \
        static_assert(types<T>, #Name ": expected a type that this chip has it for");                                 \
        detail::unary<Op>(#Name, slow, dst, src, detail::Lanes::of_mask(mask, repeatTime), repeatParams);             \
    }                                                                                                                 \
    template <class T>                                                                                                \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count) {                    \
        static_assert(types<T>, #Name ": expected a type that this chip has it for");                                 \
        detail::unary<Op>(#Name, slow, dst, src, detail::Lanes::of_count(count), UnaryRepeatParams());                \
    }

ACL_ATTN_SIM_UNARY(Exp, detail::ExpLane, true, detail::is_real)
ACL_ATTN_SIM_UNARY(Ln, detail::LnLane, true, detail::is_real)
ACL_ATTN_SIM_UNARY(Sqrt, detail::SqrtLane, true, detail::is_real)
ACL_ATTN_SIM_UNARY(Abs, detail::AbsLane, false, detail::is_real)
ACL_ATTN_SIM_UNARY(Relu, detail::ReluLane, false, detail::is_real)
ACL_ATTN_SIM_UNARY(Not, detail::NotLane, false, detail::is_bitwise)
#undef ACL_ATTN_SIM_UNARY

// The scalar has exactly the tensor's type.
#define ACL_ATTN_SIM_SCALAR(Name, Op)                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],      \
                     const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {                                \
        static_assert(detail::is_scalable<T>, #Name ": expected a type that this chip has it for");                    \
        detail::with_scalar<Op>(#Name, dst, src, scalarValue, detail::Lanes::of_bits(mask, repeatTime), repeatParams); \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,        \
                     const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {                                \
        static_assert(detail::is_scalable<T>, #Name ": expected a type that this chip has it for");                    \
        detail::with_scalar<Op>(#Name, dst, src, scalarValue, detail::Lanes::of_mask(mask, repeatTime), repeatParams); \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,                       \
                     const int32_t& count) {                                                                           \
        static_assert(detail::is_scalable<T>, #Name ": expected a type that this chip has it for");                    \
        detail::with_scalar<Op>(#Name, dst, src, scalarValue, detail::Lanes::of_count(count), UnaryRepeatParams());    \
    }

ACL_ATTN_SIM_SCALAR(Adds, detail::AddLane)
ACL_ATTN_SIM_SCALAR(Muls, detail::MulLane)
ACL_ATTN_SIM_SCALAR(Maxs, detail::MaxLane)
ACL_ATTN_SIM_SCALAR(Mins, detail::MinLane)
#undef ACL_ATTN_SIM_SCALAR

// Bits shifted out are lost; signed types keep their sign to the right.
template <class T>
inline void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                      const int32_t& count) {
    static_assert(detail::is_shiftable<T>, "ShiftLeft: expected a 16- or 32-bit integer type");
    const uint32_t bits = static_cast<uint32_t>(scalarValue);
    detail::require(bits < sizeof(T) * 8, "ShiftLeft", "scalarValue: expected less than the type's bits");
    detail::elementwise<T>(
        "ShiftLeft", false, detail::Lanes::of_count(count), dst, {}, false,
        [bits](T* d, const T* a) { *d = static_cast<T>(static_cast<uint32_t>(*a) << bits); },
        detail::Source<T>{src, {}});
}

template <class T>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                       const int32_t& count) {
    static_assert(detail::is_shiftable<T>, "ShiftRight: expected a 16- or 32-bit integer type");
    const uint32_t bits = static_cast<uint32_t>(scalarValue);
    detail::require(bits < sizeof(T) * 8, "ShiftRight", "scalarValue: expected less than the type's bits");
    detail::elementwise<T>(
        "ShiftRight", false, detail::Lanes::of_count(count), dst, {}, false,
        [bits](T* d, const T* a) { *d = static_cast<T>(*a >> bits); }, detail::Source<T>{src, {}});
}

namespace detail {
template <class T, class U>
constexpr bool is_multiply_add =
    is_real<T> && (std::is_same_v<T, U> || (std::is_same_v<T, float> && std::is_same_v<U, half>));
}  // namespace detail

// dst += src * scalar
template <class T, class U>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const int32_t& count) {
    static_assert(detail::is_multiply_add<T, U>, "Axpy: expected half, float, or float += half");
    detail::elementwise<T>(
        "Axpy", false, detail::Lanes::of_count(count), dst, {}, true,
        [scalarValue](T* d, const U* a) {
            *d = detail::narrow<T>(std::fma(detail::widen(*a), detail::widen(scalarValue), detail::widen(*d)));
        },
        detail::Source<U>{src, {}});
}

// dst += src0 * src1
template <class T, class U>
inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                      const int32_t& count) {
    static_assert(detail::is_multiply_add<T, U>, "MulAddDst: expected half, float, or float += half");
    detail::elementwise<T>(
        "MulAddDst", false, detail::Lanes::of_count(count), dst, {}, true,
        [](T* d, const U* a, const U* b) {
            *d = detail::narrow<T>(std::fma(detail::widen(*a), detail::widen(*b), detail::widen(*d)));
        },
        detail::Source<U>{src0, {}}, detail::Source<U>{src1, {}});
}

template <class T, class U, bool isSetMask = true>
inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                      const uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {
    static_assert(detail::is_multiply_add<T, U>, "MulAddDst: expected half, float, or float += half");
    detail::elementwise<T>(
        "MulAddDst", false, detail::Lanes::of_mask(mask, repeatTime), dst,
        {repeatParams.dstBlkStride, repeatParams.dstRepStride}, true,
        [](T* d, const U* a, const U* b) {
            *d = detail::narrow<T>(std::fma(detail::widen(*a), detail::widen(*b), detail::widen(*d)));
        },
        detail::Source<U>{src0, {repeatParams.src0BlkStride, repeatParams.src0RepStride}},
        detail::Source<U>{src1, {repeatParams.src1BlkStride, repeatParams.src1RepStride}});
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
