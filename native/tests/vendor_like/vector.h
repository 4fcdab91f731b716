// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector calls in their memory form: three shapes each, and on dav-3510 generic ones besides, which make some calls
// ambiguous that are not on dav-2201.
#pragma once

#include "vector_types.h"

namespace AscendC {

// What dav-3510 lets one choose of a slow instruction; the default is the plain one.
struct AlgorithmConfig {
    int algo = 0;
};
constexpr AlgorithmConfig DEFAULT_ALGORITHM = {0};

#define ACL_ATTN_STRICT_MASKED(Name, types, Template)                                                             \
    Template __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&,      \
                                         uint64_t[], const uint8_t, const BinaryRepeatParams&) {                   \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                      \
    }                                                                                                              \
    Template __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&,      \
                                         uint64_t, const uint8_t, const BinaryRepeatParams&) {                     \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                      \
    }
#define ACL_ATTN_STRICT_COUNTED(Name, types, Template)                                                        \
    Template __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, \
                                         const int32_t&) {                                                    \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                 \
    }
#define ACL_ATTN_STRICT_MASKED_TEMPLATE template <typename T, bool isSetMask = true>
#define ACL_ATTN_STRICT_COUNTED_TEMPLATE template <typename T>
#if __NPU_ARCH__ == 3510
#define ACL_ATTN_STRICT_SLOW_MASKED \
    template <typename T, bool isSetMask = true, const AlgorithmConfig& = DEFAULT_ALGORITHM>
#define ACL_ATTN_STRICT_SLOW_COUNTED template <typename T, const AlgorithmConfig& = DEFAULT_ALGORITHM>
#else
#define ACL_ATTN_STRICT_SLOW_MASKED ACL_ATTN_STRICT_MASKED_TEMPLATE
#define ACL_ATTN_STRICT_SLOW_COUNTED ACL_ATTN_STRICT_COUNTED_TEMPLATE
#endif
#define ACL_ATTN_STRICT_BINARY(Name, masked, counted)                      \
    ACL_ATTN_STRICT_MASKED(Name, masked, ACL_ATTN_STRICT_MASKED_TEMPLATE)   \
    ACL_ATTN_STRICT_COUNTED(Name, counted, ACL_ATTN_STRICT_COUNTED_TEMPLATE)

ACL_ATTN_STRICT_BINARY(Add, is_masked, is_added)
ACL_ATTN_STRICT_BINARY(Sub, is_masked, is_added)
ACL_ATTN_STRICT_BINARY(Mul, is_masked, is_masked)
ACL_ATTN_STRICT_BINARY(Max, is_masked, is_added)
ACL_ATTN_STRICT_BINARY(Min, is_masked, is_added)
ACL_ATTN_STRICT_BINARY(And, is_bitwise, is_bitwise)
ACL_ATTN_STRICT_BINARY(Or, is_bitwise, is_bitwise)
ACL_ATTN_STRICT_MASKED(Div, is_real, ACL_ATTN_STRICT_SLOW_MASKED)
ACL_ATTN_STRICT_COUNTED(Div, is_real, ACL_ATTN_STRICT_SLOW_COUNTED)

template <typename T, typename U>
__aicore__ void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                          const int32_t& count);
template <typename T, typename U, bool isSetMask = true>
__aicore__ void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                          uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams);
template <typename T, typename U>
__aicore__ void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const int32_t& count);

// --- One operand.
#define ACL_ATTN_STRICT_UNARY(Name, types, Masked, Counted)                                                          \
    Masked __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t[], const uint8_t,      \
                                       const UnaryRepeatParams&) {                                                   \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                        \
    }                                                                                                                \
    Masked __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t, const uint8_t,        \
                                       const UnaryRepeatParams&) {                                                   \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                        \
    }                                                                                                                \
    Counted __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&) {              \
        static_assert(strict::types<T>, #Name ": expected a type that this chip has it for");                        \
    }
ACL_ATTN_STRICT_UNARY(Exp, is_real, ACL_ATTN_STRICT_SLOW_MASKED, ACL_ATTN_STRICT_SLOW_COUNTED)
ACL_ATTN_STRICT_UNARY(Ln, is_real, ACL_ATTN_STRICT_SLOW_MASKED, ACL_ATTN_STRICT_SLOW_COUNTED)
ACL_ATTN_STRICT_UNARY(Sqrt, is_real, ACL_ATTN_STRICT_SLOW_MASKED, ACL_ATTN_STRICT_SLOW_COUNTED)
ACL_ATTN_STRICT_UNARY(Abs, is_real, ACL_ATTN_STRICT_MASKED_TEMPLATE, ACL_ATTN_STRICT_COUNTED_TEMPLATE)
ACL_ATTN_STRICT_UNARY(Relu, is_real, ACL_ATTN_STRICT_MASKED_TEMPLATE, ACL_ATTN_STRICT_COUNTED_TEMPLATE)
ACL_ATTN_STRICT_UNARY(Not, is_bitwise, ACL_ATTN_STRICT_MASKED_TEMPLATE, ACL_ATTN_STRICT_COUNTED_TEMPLATE)
#if __NPU_ARCH__ == 3510
template <typename T, typename U>
__aicore__ void Abs(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t& count);
#endif

// --- One operand and a number of exactly its type.
#define ACL_ATTN_STRICT_SCALAR_OVERLOADS(Name)                                                                       \
    template <typename T, bool isSetMask = true>                                                                     \
    __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const T&, uint64_t, const uint8_t,     \
                                const UnaryRepeatParams&) {                                                          \
        static_assert(strict::is_scalable<T>, #Name ": expected a type that this chip has it for");                  \
    }                                                                                                                \
    template <typename T, typename U, bool isSetMask = true,                                                         \
              typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>                                 \
    __aicore__ void Name(const LocalTensor<T>&, const LocalTensor<T>&, const U&, uint64_t, const uint8_t,            \
                         const UnaryRepeatParams&);                                                                  \
    template <typename T, bool isSetMask = true>                                                                     \
    __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&) {            \
        static_assert(strict::is_scalable<T>, #Name ": expected a type that this chip has it for");                  \
    }                                                                                                                \
    template <typename T, typename U, bool isSetMask = true,                                                         \
              typename std::enable_if<std::is_same<T, U>::value, bool>::type = true>                                 \
    __aicore__ void Name(const LocalTensor<T>&, const LocalTensor<T>&, const U&, const int32_t&);
#if __NPU_ARCH__ == 3510
// The generic form takes any three types; what it then makes of them is refused further inside.
#define ACL_ATTN_STRICT_SCALAR(Name)                                                                                 \
    ACL_ATTN_STRICT_SCALAR_OVERLOADS(Name)                                                                           \
    template <typename T = BinaryDefaultType, bool isSetMask = true,                                                 \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename U, typename S, typename V>                \
    __aicore__ inline void Name(const U&, const S&, const V&, const int32_t&) {                                      \
        static_assert(!std::is_same_v<U, U>, #Name ": expected a number of exactly the tensor's type");              \
    }
#else
#define ACL_ATTN_STRICT_SCALAR(Name) ACL_ATTN_STRICT_SCALAR_OVERLOADS(Name)
#endif
ACL_ATTN_STRICT_SCALAR(Adds)
ACL_ATTN_STRICT_SCALAR(Muls)
ACL_ATTN_STRICT_SCALAR(Maxs)
ACL_ATTN_STRICT_SCALAR(Mins)

template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftLeft(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&) {
    static_assert(strict::is_any_of<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftLeft: expected 16 or 32 bits");
}
template <typename T, bool isSetMask = true>
__aicore__ inline void ShiftRight(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&) {
    static_assert(strict::is_any_of<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight: expected 16 or 32 bits");
}

// --- Fills.
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>&, const T&, uint64_t, const uint8_t, const uint16_t,
                                 const uint8_t) {
    static_assert(strict::is_duplicable<T>, "Duplicate: expected a type that this chip has it for");
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T>&, const T&, uint64_t[], const uint8_t, const uint16_t,
                                 const uint8_t) {
    static_assert(strict::is_duplicable<T>, "Duplicate: expected a type that this chip has it for");
}
template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>&, const T&, const int32_t&) {
    static_assert(strict::is_duplicable<T>, "Duplicate: expected a type that this chip has it for");
}
#if __NPU_ARCH__ == 3510
template <typename T>
__aicore__ void Duplicate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count);
#endif
template <typename T>
__aicore__ void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, uint8_t repeatTime,
                               uint16_t dstBlkStride, uint8_t dstRepStride);
template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T>, const T&, uint32_t) {
    static_assert(strict::is_any_of<T, half, int16_t, float, int32_t>, "CreateVecIndex: i16, i32, half, float");
}
template <typename T>
__aicore__ inline void Brcb(const LocalTensor<T>&, const LocalTensor<T>&, const uint8_t, const BrcbRepeatParams&) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb: expected 16- or 32-bit elements");
}
template <typename T>
__aicore__ void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
                       const uint32_t srcBaseAddr, const uint32_t count);

// --- Reductions. dst is in units of results.
#define ACL_ATTN_STRICT_WHOLE(Name, Mask)                                                                        \
    template <typename T, bool isSetMask = true>                                                                 \
    __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, Mask, const int32_t, const int32_t, \
                                const int32_t, const int32_t,                                                    \
                                ReduceOrder = ReduceOrder::ORDER_VALUE_INDEX) {                                  \
        static_assert(strict::is_real<T>, #Name ": expected half or float");                                     \
    }
ACL_ATTN_STRICT_WHOLE(WholeReduceMax, const int32_t)
ACL_ATTN_STRICT_WHOLE(WholeReduceMax, const uint64_t*)
ACL_ATTN_STRICT_WHOLE(WholeReduceMin, const int32_t)
ACL_ATTN_STRICT_WHOLE(WholeReduceMin, const uint64_t*)
#if __NPU_ARCH__ == 3510
#define ACL_ATTN_STRICT_WHOLE_SUM template <typename T, bool isSetMask = true, typename U = T>
#define ACL_ATTN_STRICT_SUM_TYPE U
#else
#define ACL_ATTN_STRICT_WHOLE_SUM template <typename T, bool isSetMask = true>
#define ACL_ATTN_STRICT_SUM_TYPE T
#endif
ACL_ATTN_STRICT_WHOLE_SUM __aicore__ inline void WholeReduceSum(const LocalTensor<ACL_ATTN_STRICT_SUM_TYPE>&,
                                                                const LocalTensor<T>&, const int32_t, const int32_t,
                                                                const int32_t, const int32_t, const int32_t) {
    static_assert(strict::is_real<T> && std::is_same_v<T, ACL_ATTN_STRICT_SUM_TYPE>, "WholeReduceSum: half or float");
}
ACL_ATTN_STRICT_WHOLE_SUM __aicore__ inline void WholeReduceSum(const LocalTensor<ACL_ATTN_STRICT_SUM_TYPE>&,
                                                                const LocalTensor<T>&, const uint64_t[], const int32_t,
                                                                const int32_t, const int32_t, const int32_t) {
    static_assert(strict::is_real<T> && std::is_same_v<T, ACL_ATTN_STRICT_SUM_TYPE>, "WholeReduceSum: half or float");
}
#define ACL_ATTN_STRICT_BLOCK(Name)                                                                                 \
    template <typename T, bool isSetMask = true>                                                                    \
    __aicore__ inline void Name(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, const int32_t,         \
                                const int32_t, const int32_t, const int32_t) {                                      \
        static_assert(strict::is_real<T>, #Name ": expected half or float");                                        \
    }
ACL_ATTN_STRICT_BLOCK(BlockReduceMax)
ACL_ATTN_STRICT_BLOCK(BlockReduceMin)
ACL_ATTN_STRICT_BLOCK(BlockReduceSum)

// --- Conversions, comparisons, choices.
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T>&, const LocalTensor<U>&, const RoundMode&, const uint64_t[],
                            const uint8_t, const UnaryRepeatParams&) {
    static_assert(strict::is_cast<T, U>(), "Cast: expected types that this chip converts");
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T>&, const LocalTensor<U>&, const RoundMode&, const uint64_t,
                            const uint8_t, const UnaryRepeatParams&) {
    static_assert(strict::is_cast<T, U>(), "Cast: expected types that this chip converts");
}
template <typename T, typename U>
__aicore__ inline void Cast(const LocalTensor<T>&, const LocalTensor<U>&, const RoundMode&, const uint32_t) {
    static_assert(strict::is_cast<T, U>(), "Cast: expected types that this chip converts");
}
// Of single numbers, which share the name.
template <typename T, typename U, RoundMode roundMode>
__aicore__ U Cast(T valueIn);
__aicore__ bfloat16_t Cast(const float& fVal);

template <typename T, typename U>
__aicore__ inline void Compare(const LocalTensor<U>&, const LocalTensor<T>&, const LocalTensor<T>&, CMPMODE, uint32_t) {
    static_assert(strict::is_comparable<T> && std::is_same_v<U, uint8_t>, "Compare: expected bits of comparable types");
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                         const uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams& repeatParams);
template <typename T, typename U>
__aicore__ inline void Compares(const LocalTensor<U>&, const LocalTensor<T>&, const T, CMPMODE, uint32_t) {
    static_assert(strict::is_comparable<T> && std::is_same_v<U, uint8_t>, "Compares: expected bits of a comparable");
}
template <typename T, typename U>
__aicore__ void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                              CMPMODE cmpMode, uint32_t count);

template <typename T, typename U, bool isSetMask = true>
__aicore__ void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
                       SELMODE selMode, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams);
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<T>&,
                              const LocalTensor<T>&, SELMODE, uint32_t) {
    static_assert(strict::is_real<T> && std::is_same_v<U, uint8_t>, "Select: expected half or float, by bits");
}
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<T>&, T, SELMODE,
                              uint32_t) {
    static_assert(strict::is_real<T> && std::is_same_v<U, uint8_t>, "Select: expected half or float, by bits");
}
#if __NPU_ARCH__ == 3510
template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType, bool isSetMask = true,
          const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename T2, typename T3, typename T4>
__aicore__ inline void Compares(const T2&, const T3&, const T4&, CMPMODE, uint32_t) {
    static_assert(!std::is_same_v<T2, T2>, "Compares: expected a number of exactly the tensor's type");
}
template <typename T0 = BinaryDefaultType, typename T1 = BinaryDefaultType,
          const BinaryConfig& config = DEFAULT_BINARY_CONFIG, typename T2, typename T3, typename T4>
__aicore__ inline void Select(const T2&, const LocalTensor<T1>&, const T3&, const T4&, SELMODE, uint32_t) {
    static_assert(!std::is_same_v<T2, T2>, "Select: expected a number of exactly the tensor's type");
}
#endif

}  // namespace AscendC
