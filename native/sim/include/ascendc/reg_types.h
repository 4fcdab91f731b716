// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector registers of 256 bytes and their masks, which have a bit per byte: that of an element's first byte counts.
#pragma once

#include <cstring>
#include <type_traits>

#include "ascendc/convert.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace Reg {

enum class RegLayout { UNKNOWN = -1, ZERO, ONE, TWO, THREE };
enum class SatMode { UNKNOWN = -1, NO_SAT, SAT };
enum class MaskMergeMode { UNKNOWN, MERGING, ZEROING };
enum class HighLowPart { LOWEST, HIGHEST };
enum class PostLiteral { POST_MODE_NORMAL, POST_MODE_UPDATE };
enum class IndexOrder { INCREASE_ORDER, DECREASE_ORDER };
enum class MaskPattern { ALL, VL1, VL2, VL3, VL4, VL8, VL16, VL32, VL64, VL128, M3, M4, H, Q, ALLF = 15 };
enum class LoadDist {
    DIST_NORM,
    DIST_BRC_B8,
    DIST_BRC_B16,
    DIST_BRC_B32,
    DIST_US_B8,
    DIST_US_B16,
    DIST_DS_B8,
    DIST_DS_B16,
    DIST_DINTLV_B8,
    DIST_DINTLV_B16,
    DIST_UNPACK_B8,
    DIST_UNPACK_B16,
    DIST_BLK,
    DIST_E2B_B16,
    DIST_E2B_B32,
    DIST_UNPACK_B32,
    DIST_DINTLV_B32,
    DIST_UNPACK4_B8,
};
enum class StoreDist {
    DIST_NORM_B8,
    DIST_NORM_B16,
    DIST_NORM_B32,
    DIST_FIRST_ELEMENT_B8,
    DIST_FIRST_ELEMENT_B16,
    DIST_FIRST_ELEMENT_B32,
    DIST_PACK_B16,
    DIST_PACK_B32,
    DIST_INTLV_B8,
    DIST_INTLV_B16,
    DIST_PACK_B64,
    DIST_INTLV_B32,
    DIST_PACK4_B32,
    DIST_NORM,
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
constexpr CastTrait castTrait = {};

constexpr uint32_t kRegBytes = acl_attn::sim::kRepeatBytes;

template <class T>
struct RegTensor {
    using ActualT = T;
    static constexpr uint32_t kLanes = kRegBytes / sizeof(T);

    alignas(64) uint8_t bytes[kRegBytes];

    T get(uint32_t lane) const {
        T value;
        std::memcpy(&value, bytes + lane * sizeof(T), sizeof value);
        return value;
    }
    void set(uint32_t lane, T value) { std::memcpy(bytes + lane * sizeof(T), &value, sizeof value); }
};

struct MaskReg {
    uint64_t bits[4] = {};

    bool test(uint32_t byte) const { return (bits[byte / 64] >> (byte % 64) & 1) != 0; }
    void assign(uint32_t byte, bool value) {
        const uint64_t bit = uint64_t{1} << (byte % 64);
        bits[byte / 64] = value ? bits[byte / 64] | bit : bits[byte / 64] & ~bit;
    }
};

namespace impl {

// The element type that a call means: the one it names, or that of its register.
template <class Named, class Register>
constexpr bool names_element = std::is_same_v<Named, DefaultType> || std::is_same_v<Named, typename Register::ActualT>;

template <class T>
inline MaskReg first_lanes(uint32_t lanes) {
    MaskReg mask;
    for (uint32_t lane = 0; lane < kRegBytes / sizeof(T) && lane < lanes; lane++) mask.assign(lane * sizeof(T), true);
    return mask;
}

inline void count_instruction(bool slow = false) {
    detail::Unit& unit = detail::Unit::current();
    if (!unit.plain(detail::Pipe::v)) unit.vector_function_work(slow);
}

}  // namespace impl

template <class T, MaskPattern mode = MaskPattern::ALL>
inline MaskReg CreateMask() {
    constexpr uint32_t kLanes = kRegBytes / sizeof(T);
    switch (mode) {
        case MaskPattern::ALL: return impl::first_lanes<T>(kLanes);
        case MaskPattern::VL1: return impl::first_lanes<T>(1);
        case MaskPattern::VL2: return impl::first_lanes<T>(2);
        case MaskPattern::VL3: return impl::first_lanes<T>(3);
        case MaskPattern::VL4: return impl::first_lanes<T>(4);
        case MaskPattern::VL8: return impl::first_lanes<T>(8);
        case MaskPattern::VL16: return impl::first_lanes<T>(16);
        case MaskPattern::VL32: return impl::first_lanes<T>(32);
        case MaskPattern::VL64: return impl::first_lanes<T>(64);
        case MaskPattern::VL128: return impl::first_lanes<T>(128);
        case MaskPattern::H: return impl::first_lanes<T>(kLanes / 2);
        case MaskPattern::Q: return impl::first_lanes<T>(kLanes / 4);
        case MaskPattern::ALLF: return impl::first_lanes<T>(0);
        case MaskPattern::M3:
        case MaskPattern::M4: break;
    }
    MaskReg mask;
    for (uint32_t lane = 0; lane < kLanes; lane += mode == MaskPattern::M3 ? 3 : 4) mask.assign(lane * sizeof(T), true);
    return mask;
}

// The first `scalarValue` lanes, at most all; takes them off scalarValue.
template <class T>
inline MaskReg UpdateMask(uint32_t& scalarValue) {
    constexpr uint32_t kLanes = kRegBytes / sizeof(T);
    const MaskReg mask = impl::first_lanes<T>(scalarValue);
    scalarValue = scalarValue > kLanes ? scalarValue - kLanes : 0;
    return mask;
}

namespace impl {
template <class F>
inline void combine(MaskReg& dst, const MaskReg& a, const MaskReg& b, const MaskReg& mask, F f) {
    for (int word = 0; word < 4; word++) dst.bits[word] = f(a.bits[word], b.bits[word]) & mask.bits[word];
}
}  // namespace impl

inline void And(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask) {
    impl::combine(dst, src0, src1, mask, [](uint64_t a, uint64_t b) { return a & b; });
}
inline void Or(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask) {
    impl::combine(dst, src0, src1, mask, [](uint64_t a, uint64_t b) { return a | b; });
}
inline void Xor(MaskReg& dst, MaskReg& src0, MaskReg& src1, MaskReg& mask) {
    impl::combine(dst, src0, src1, mask, [](uint64_t a, uint64_t b) { return a ^ b; });
}
inline void Not(MaskReg& dst, MaskReg& src, MaskReg& mask) {
    impl::combine(dst, src, src, mask, [](uint64_t a, uint64_t) { return ~a; });
}

}  // namespace Reg
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
