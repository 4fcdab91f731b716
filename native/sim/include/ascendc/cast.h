// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Cast: the conversions that the vendor's table has for each chip, and the roundings that each of them takes.
#pragma once

#include "ascendc/convert.h"
#include "ascendc/vector_walk.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

template <class D, class S>
inline void cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, const Lanes& lanes,
                 const UnaryRepeatParams& params) {
    static_assert(cast_roundings<D, S>() != 0, "Cast: expected a pair of types that this chip converts");
    constexpr const char* kName = "Cast";
    if (!takes_rounding<D, S>(mode)) {
        Unit::current().fault(kName, "roundMode: expected one that this pair of types has on this chip");
    }
    if constexpr (is_packed4<S> || is_packed4<D>) {
        // Half bytes are no elements in memory, so this walk stands alone. Count form only.
        Unit& unit = Unit::current();
        require(lanes.counted(), kName, "4-bit elements: the mask form is not supported yet; use the count form");
        if (unit.checking()) {
            require(unit.role() == acl_attn::sim::Role::vector, kName, "expected to run on a vector core");
            require(dst.space() == Space::ub && src.space() == Space::ub, kName, "dst, src: expected UB");
            require(dst.address() % 32 == 0 && src.address() % 32 == 0, kName,
                    "dst, src: expected addresses on 32 bytes");
            require(lanes.count() >= 1 && lanes.count() % 2 == 0, kName,
                    "count: expected an even number of 4-bit elements");
        }
        acl_attn::sim::issue(
            unit, Pipe::v, kName,
            [&](Operation& operation) {
                operation.work.repeats = lanes.instructions(is_packed4<S> ? sizeof(D) : sizeof(S));
                reads(operation, src, {0, bytes_of<S>(lanes.count())});
                writes(operation, dst, {0, bytes_of<D>(lanes.count())});
            },
            [=] {
                for (uint64_t i = 0; i < lanes.count(); i++) cast_packed<D, S>(dst.data(), src.data(), i, mode);
            });
    } else {
        elementwise<D>(
            kName, false, lanes, dst, Strides{params.dstBlkStride, params.dstRepStride}, false,
            [mode](D* d, const S* a) { *d = convert<D, S>(*a, mode); },
            Source<S>{src, {params.srcBlkStride, params.srcRepStride}});
    }
}

}  // namespace detail

template <class T, class U, bool isSetMask = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                 const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
    detail::cast(dst, src, roundMode, detail::Lanes::of_bits(mask, repeatTime), repeatParams);
}
template <class T, class U, bool isSetMask = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask,
                 const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
    detail::cast(dst, src, roundMode, detail::Lanes::of_mask(mask, repeatTime), repeatParams);
}
template <class T, class U>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
                 const uint32_t count) {
    detail::cast(dst, src, roundMode, detail::Lanes::of_count(count), UnaryRepeatParams());
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
