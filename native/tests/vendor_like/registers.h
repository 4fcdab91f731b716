// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector registers of dav-3510. Registers and masks are taken by reference to what is not const, named element types
// have to be those of the register.
#pragma once

#include "vector_types.h"

namespace AscendC::Reg {

enum class RegLayout { UNKNOWN = -1, ZERO, ONE, TWO, THREE };
enum class SatMode { UNKNOWN = -1, NO_SAT, SAT };
enum class MaskMergeMode { UNKNOWN, MERGING, ZEROING };
enum class IndexOrder { INCREASE_ORDER, DECREASE_ORDER };
enum class HighLowPart { LOWEST, HIGHEST };
enum class PostLiteral { POST_MODE_NORMAL, POST_MODE_UPDATE };
enum class MaskPattern { ALL, VL1, VL2, VL3, VL4, VL8, VL16, VL32, VL64, VL128, M3, M4, H, Q, ALLF = 15 };
enum class LoadDist {
    DIST_NORM, DIST_BRC_B8, DIST_BRC_B16, DIST_BRC_B32, DIST_US_B8 = 6, DIST_US_B16, DIST_DS_B8, DIST_DS_B16,
    DIST_BDINTLV, DIST_DINTLV_B8, DIST_DINTLV_B16, DIST_UNPACK_B8, DIST_UNPACK_B16, DIST_BLK, DIST_E2B_B16,
    DIST_E2B_B32, DIST_UNPACK_B32, DIST_DINTLV_B32, DIST_UNPACK4_B8
};
enum class MaskDist { DIST_NORM, DIST_US = 1, DIST_DS = 2, DIST_PACK = 1 };
enum class StoreDist {
    DIST_NORM_B8, DIST_NORM_B16, DIST_NORM_B32, DIST_FIRST_ELEMENT_B8, DIST_FIRST_ELEMENT_B16, DIST_FIRST_ELEMENT_B32,
    DIST_PACK_B16, DIST_PACK_B32, DIST_INTLV_B8, DIST_INTLV_B16, DIST_PACK_B64, DIST_INTLV_B32, DIST_PACK4_B32,
    DIST_NORM = 16
};
enum class MemType { VEC_STORE, VEC_LOAD, SCALAR_STORE, SCALAR_LOAD, VEC_ALL, SCALAR_ALL };
enum class DataCopyMode { DATA_BLOCK_COPY };
using ReduceType = AscendC::ReduceType;

struct DefaultType {};
struct CastTrait {
    RegLayout layoutMode = RegLayout::UNKNOWN;
    SatMode satMode = SatMode::UNKNOWN;
    MaskMergeMode mrgMode = MaskMergeMode::UNKNOWN;
    RoundMode roundMode = RoundMode::UNKNOWN;
};
constexpr CastTrait castTrait = {RegLayout::UNKNOWN, SatMode::UNKNOWN, MaskMergeMode::UNKNOWN, RoundMode::UNKNOWN};
struct RegTrait {
    int REG_NUM = 1;
};
inline constexpr RegTrait RegTraitNumOne = {1};

template <typename T, const RegTrait& regTrait = RegTraitNumOne>
struct RegTensor {
    __simd_callee__ RegTensor() {}
    using ActualT = T;
    uint8_t reg[256];
};
struct MaskReg {
    uint8_t bits[32];
};
struct AddrReg {
    uint32_t offset;
};

namespace strict {
template <class Named, class Register>
constexpr bool names = std::is_same_v<Named, DefaultType> || std::is_same_v<Named, typename Register::ActualT>;
template <class T>
constexpr bool fits = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;
}  // namespace strict

template <typename T, const RegTrait& regTrait = RegTraitNumOne>
__simd_callee__ inline MaskReg UpdateMask(uint32_t&) {
    return {};
}
template <typename T, MaskPattern mode = MaskPattern::ALL, const RegTrait& regTrait = RegTraitNumOne>
__simd_callee__ inline MaskReg CreateMask() {
    return {};
}
__simd_callee__ void And(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask);
__simd_callee__ void Or(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask);
__simd_callee__ void Xor(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask);
__simd_callee__ void Not(MaskReg& dst, MaskReg& src, MaskReg& mask);

// --- Loads and stores.
template <typename T = DefaultType, LoadDist dist = LoadDist::DIST_NORM, typename U>
__simd_callee__ inline void LoadAlign(U&, __ubuf__ T*) {
    static_assert(strict::names<T, U>, "LoadAlign: expected the register's element type");
}
template <typename T = DefaultType, PostLiteral postMode, LoadDist dist = LoadDist::DIST_NORM, typename U>
__simd_callee__ inline void LoadAlign(U&, __ubuf__ T*&, int32_t) {
    static_assert(strict::names<T, U>, "LoadAlign: expected the register's element type");
}
template <typename T = DefaultType, LoadDist dist = LoadDist::DIST_NORM, typename U>
__simd_callee__ void LoadAlign(U& dstReg, __ubuf__ T* srcAddr, AddrReg offset);
template <typename T = DefaultType, LoadDist dist, typename U>
__simd_callee__ inline void LoadAlign(U&, U&, __ubuf__ T*) {
    static_assert(strict::names<T, U>, "LoadAlign: expected the registers' element type");
    static_assert(dist == LoadDist::DIST_DINTLV_B8 || dist == LoadDist::DIST_DINTLV_B16 ||
                      dist == LoadDist::DIST_DINTLV_B32 || dist == LoadDist::DIST_BDINTLV,
                  "LoadAlign: expected a distribution for two registers");
}
template <typename T = DefaultType, PostLiteral postMode, LoadDist dist, typename U>
__simd_callee__ void LoadAlign(U& dstReg0, U& dstReg1, __ubuf__ T*& srcAddr, int32_t postUpdateStride);
template <typename T = DefaultType, DataCopyMode dataMode, typename U>
__simd_callee__ inline void LoadAlign(U&, __ubuf__ T*, uint32_t, MaskReg&) {
    static_assert(strict::names<T, U>, "LoadAlign: expected the register's element type");
}
template <typename T, MaskDist dist = MaskDist::DIST_NORM>
__simd_callee__ void LoadAlign(MaskReg& mask, __ubuf__ T* srcAddr);

template <typename T = DefaultType, StoreDist dist = StoreDist::DIST_NORM, typename U>
__simd_callee__ inline void StoreAlign(__ubuf__ T*, U&, MaskReg&) {
    static_assert(strict::names<T, U>, "StoreAlign: expected the register's element type");
    static_assert(dist != StoreDist::DIST_INTLV_B8 && dist != StoreDist::DIST_INTLV_B16 &&
                      dist != StoreDist::DIST_INTLV_B32,
                  "StoreAlign: expected a distribution for one register");
}
template <typename T = DefaultType, PostLiteral postMode, StoreDist dist = StoreDist::DIST_NORM, typename U>
__simd_callee__ inline void StoreAlign(__ubuf__ T*&, U&, int32_t, MaskReg&) {
    static_assert(strict::names<T, U>, "StoreAlign: expected the register's element type");
}
template <typename T = DefaultType, StoreDist dist, typename U>
__simd_callee__ inline void StoreAlign(__ubuf__ T*, U&, U&, MaskReg&) {
    static_assert(strict::names<T, U>, "StoreAlign: expected the registers' element type");
    static_assert(dist == StoreDist::DIST_INTLV_B8 || dist == StoreDist::DIST_INTLV_B16 ||
                      dist == StoreDist::DIST_INTLV_B32,
                  "StoreAlign: expected a distribution for two registers");
}
template <typename T = DefaultType, DataCopyMode dataMode, typename U>
__simd_callee__ inline void StoreAlign(__ubuf__ T*, U&, uint32_t, MaskReg&) {
    static_assert(strict::names<T, U> && sizeof(T) <= 4, "StoreAlign: expected the register's type, 1 to 4 bytes");
}
template <typename T = DefaultType, DataCopyMode dataMode, PostLiteral postMode, typename U>
__simd_callee__ inline void StoreAlign(__ubuf__ T*&, U&, uint32_t, uint32_t, MaskReg&) {
    static_assert(strict::names<T, U> && sizeof(T) <= 4, "StoreAlign: expected the register's type, 1 to 4 bytes");
}
template <typename T, MaskDist dist = MaskDist::DIST_NORM>
__simd_callee__ void StoreAlign(__ubuf__ T* dstAddr, MaskReg& mask);

template <MemType src, MemType dst>
__simd_callee__ void LocalMemBar();

// --- Arithmetic.
#define ACL_ATTN_STRICT_REG_BINARY(Name, ...)                                                                  \
    template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename U>               \
    __simd_callee__ inline void Name(U&, U&, U&, MaskReg&) {                                                   \
        static_assert(strict::names<T, U> && mode == MaskMergeMode::ZEROING, #Name ": element type, ZEROING"); \
        static_assert(AscendC::strict::is_any_of<typename U::ActualT, __VA_ARGS__>, #Name ": its types");      \
    }
#define ACL_ATTN_STRICT_REG_INTEGERS int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t
ACL_ATTN_STRICT_REG_BINARY(Add, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(Sub, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(Mul, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t)
ACL_ATTN_STRICT_REG_BINARY(Max, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(Min, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(And, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(Or, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(Xor, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_BINARY(MulAddDst, half, bfloat16_t, float)
template <typename T = DefaultType, auto mode = MaskMergeMode::ZEROING, typename U>
__simd_callee__ inline void Div(U&, U&, U&, MaskReg&) {
    static_assert(strict::names<T, U> && AscendC::strict::is_real<typename U::ActualT>, "Div: expected half or float");
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename U>
__simd_callee__ inline void MulDstAdd(U&, U&, U&, MaskReg&) {
    static_assert(strict::names<T, U> && mode == MaskMergeMode::ZEROING, "MulDstAdd: expected ZEROING");
}
template <typename T = DefaultType, typename U = DefaultType, RegLayout layout = RegLayout::ZERO,
          MaskMergeMode mode = MaskMergeMode::ZEROING, typename S, typename V>
__simd_callee__ inline void ExpSub(S&, V&, V&, MaskReg&) {
    static_assert(strict::names<T, S> && strict::names<U, V>, "ExpSub: expected the registers' element types");
    static_assert(std::is_same_v<typename S::ActualT, float> && AscendC::strict::is_real<typename V::ActualT>,
                  "ExpSub: expected float from half or float");
    static_assert(mode == MaskMergeMode::ZEROING && (layout == RegLayout::ZERO || layout == RegLayout::ONE),
                  "ExpSub: expected ZEROING, layout ZERO or ONE");
}

#define ACL_ATTN_STRICT_REG_UNARY(Name, Mode, ...)                                                             \
    template <typename T = DefaultType, Mode mode = MaskMergeMode::ZEROING, typename U>                        \
    __simd_callee__ inline void Name(U&, U&, MaskReg&) {                                                       \
        static_assert(strict::names<T, U> && mode == MaskMergeMode::ZEROING, #Name ": element type, ZEROING"); \
        static_assert(AscendC::strict::is_any_of<typename U::ActualT, __VA_ARGS__>, #Name ": its types");      \
    }
ACL_ATTN_STRICT_REG_UNARY(Exp, auto, half, float)
ACL_ATTN_STRICT_REG_UNARY(Ln, auto, half, float)
ACL_ATTN_STRICT_REG_UNARY(Sqrt, auto, half, float)
ACL_ATTN_STRICT_REG_UNARY(Abs, MaskMergeMode, half, float, int8_t, int16_t, int32_t)
ACL_ATTN_STRICT_REG_UNARY(Relu, MaskMergeMode, half, float, int32_t)
ACL_ATTN_STRICT_REG_UNARY(Neg, MaskMergeMode, half, float, int8_t, int16_t, int32_t)
ACL_ATTN_STRICT_REG_UNARY(Not, MaskMergeMode, half, float, ACL_ATTN_STRICT_REG_INTEGERS)

#define ACL_ATTN_STRICT_REG_SCALAR(Name, ...)                                                                  \
    template <typename T = DefaultType, typename U, MaskMergeMode mode = MaskMergeMode::ZEROING, typename S>   \
    __simd_callee__ inline void Name(S&, S&, U, MaskReg&) {                                                    \
        static_assert(strict::names<T, S> && mode == MaskMergeMode::ZEROING, #Name ": element type, ZEROING"); \
        static_assert(AscendC::strict::is_any_of<typename S::ActualT, __VA_ARGS__>, #Name ": its types");      \
        static_assert(std::is_convertible_v<U, typename S::ActualT>, #Name ": a scalar that converts");        \
    }
ACL_ATTN_STRICT_REG_SCALAR(Adds, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_SCALAR(Muls, half, float, int16_t, uint16_t, int32_t, uint32_t)
ACL_ATTN_STRICT_REG_SCALAR(Maxs, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
ACL_ATTN_STRICT_REG_SCALAR(Mins, half, bfloat16_t, float, ACL_ATTN_STRICT_REG_INTEGERS)
#define ACL_ATTN_STRICT_REG_SHIFT(Name)                                                                        \
    template <typename T = DefaultType, typename U, MaskMergeMode mode = MaskMergeMode::ZEROING, typename S>   \
    __simd_callee__ inline void Name(S&, S&, U, MaskReg&) {                                                    \
        using E = typename S::ActualT;                                                                         \
        static_assert(strict::names<T, S> && mode == MaskMergeMode::ZEROING, #Name ": element type, ZEROING"); \
        static_assert(AscendC::strict::is_any_of<E, ACL_ATTN_STRICT_REG_INTEGERS>, #Name ": its types");       \
        static_assert(std::is_same_v<U, int16_t>, #Name ": expected the number of bits as int16_t");           \
    }
ACL_ATTN_STRICT_REG_SHIFT(ShiftLefts)
ACL_ATTN_STRICT_REG_SHIFT(ShiftRights)

template <typename T = DefaultType, typename U, typename S>
__simd_callee__ inline void Duplicate(S&, U) {
    static_assert(strict::names<T, S> && std::is_convertible_v<U, typename S::ActualT>, "Duplicate: its types");
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename U, typename S>
__simd_callee__ void Duplicate(S& dstReg, U scalarValue, MaskReg& mask);
template <typename T = DefaultType, HighLowPart pos = HighLowPart::LOWEST, MaskMergeMode mode = MaskMergeMode::ZEROING,
          typename S>
__simd_callee__ void Duplicate(S& dstReg, S& srcReg, MaskReg& mask);
template <typename T = DefaultType, typename U>
__simd_callee__ void Interleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1);
template <typename T = DefaultType, typename U>
__simd_callee__ void DeInterleave(U& dstReg0, U& dstReg1, U& srcReg0, U& srcReg1);
template <typename T = DefaultType, IndexOrder order = IndexOrder::INCREASE_ORDER, typename U, typename S>
__simd_callee__ void Arange(S& dstReg, U scalarValue);

template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, typename U>
__simd_callee__ inline void Compare(MaskReg&, U&, U&, MaskReg&) {
    static_assert(strict::names<T, U>, "Compare: expected the registers' element type");
}
template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, typename U, typename S>
__simd_callee__ inline void Compares(MaskReg&, U&, S, MaskReg&) {
    static_assert(strict::names<T, U> && std::is_convertible_v<S, typename U::ActualT>, "Compares: its types");
}
template <typename T = DefaultType, typename U>
__simd_callee__ inline void Select(U&, U&, U&, MaskReg&) {
    static_assert(strict::names<T, U>, "Select: expected the registers' element type");
}

template <ReduceType type = ReduceType::SUM, typename T = DefaultType, typename U = DefaultType,
          MaskMergeMode mode = MaskMergeMode::ZEROING, typename S, typename V>
__simd_callee__ inline void Reduce(S&, V, MaskReg) {
    static_assert(strict::names<T, S> && strict::names<U, V>, "Reduce: expected the registers' element types");
    static_assert(mode == MaskMergeMode::ZEROING, "Reduce: expected ZEROING");
}
template <ReduceType type = ReduceType::SUM, typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING,
          typename U>
__simd_callee__ inline void ReduceDataBlock(U&, U, MaskReg) {
    static_assert(strict::names<T, U>, "ReduceDataBlock: expected the registers' element type");
}

// Which fields of the trait count depends on the pair; all that the kernels' pairs need are asked for.
template <typename T = DefaultType, typename U = DefaultType, const CastTrait& trait = castTrait, typename S,
          typename V>
__simd_callee__ inline void Cast(S&, V&, MaskReg&) {
    using To = typename S::ActualT;
    using From = typename V::ActualT;
    static_assert(strict::names<T, S> && strict::names<U, V>, "Cast: expected the registers' element types");
    static_assert(AscendC::strict::is_cast<To, From>() && !std::is_same_v<To, From>, "Cast: a pair that the chip has");
    static_assert(trait.mrgMode == MaskMergeMode::ZEROING ||
                      (trait.mrgMode == MaskMergeMode::MERGING && trait.layoutMode == RegLayout::ZERO),
                  "Cast: expected ZEROING, or MERGING with layout ZERO");
    static_assert(sizeof(To) == sizeof(From) || trait.layoutMode != RegLayout::UNKNOWN, "Cast: expected a layout");
    static_assert(!(std::is_same_v<To, bfloat16_t> && std::is_same_v<From, float>) ||
                      trait.roundMode != RoundMode::CAST_NONE,
                  "Cast: float to bfloat16_t has no CAST_NONE");
}

}  // namespace AscendC::Reg

namespace AscendC {
namespace MicroAPI = Reg;
}

template <auto funcPtr, typename... Args>
__aicore__ inline void asc_vf_call(Args&&... args) {
    funcPtr(args...);
}
