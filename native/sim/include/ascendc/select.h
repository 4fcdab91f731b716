// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Comparisons that leave one bit per element, and selection by such bits. Bit i lies in byte i / 8, lowest first.
#pragma once

#include "ascendc/vector_walk.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

template <class W>
inline bool compare_values(W a, W b, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT: return a < b;
        case CMPMODE::GT: return a > b;
        case CMPMODE::EQ: return a == b;
        case CMPMODE::LE: return a <= b;
        case CMPMODE::GE: return a >= b;
        case CMPMODE::NE: return a != b;
    }
    return false;
}

// On dav-2201 int32_t has equality only.
template <class T>
constexpr bool is_comparable =
    is_any_of<T, half, float, int32_t> ||
    (kIs3510 && is_any_of<T, int8_t, uint8_t, int16_t, uint16_t, uint32_t, int64_t, uint64_t>);

template <class T>
inline void check_compare(const char* name, const LocalTensor<uint8_t>& dst, CMPMODE mode, uint32_t count) {
    static_assert(is_comparable<T>, "Compare: expected a type that this chip compares");
    if (!Unit::current().checking()) return;
    require(Unit::current().role() == acl_attn::sim::Role::vector && dst.space() == Space::ub, name,
            "dst: expected UB, on a vector core");
    require(count >= 1 && count * sizeof(T) % 256 == 0, name, "count: expected a multiple of 256 bytes of elements");
    require(!std::is_same_v<T, int32_t> || kIs3510 || mode == CMPMODE::EQ, name,
            "cmpMode: expected EQ for int32_t on this chip; compare as float");
}

template <class T, class Right>
inline void compare(const char* name, const LocalTensor<uint8_t>& dst, const LocalTensor<T>& src0, CMPMODE mode,
                    uint32_t count, Right right, const LocalTensor<T>* src1) {
    check_compare<T>(name, dst, mode, count);
    const LocalTensor<T> second = src1 != nullptr ? *src1 : src0;
    acl_attn::sim::issue(
        Unit::current(), Pipe::v, name,
        [&](Operation& operation) {
            operation.work.repeats = Lanes::of_count(count).instructions(sizeof(T));
            reads(operation, src0, {0, uint64_t{count} * sizeof(T)});
            if (src1 != nullptr) reads(operation, second, {0, uint64_t{count} * sizeof(T)});
            writes(operation, dst, {0, count / 8});
        },
        [=] {
            const T* a = reinterpret_cast<const T*>(src0.data());
            const T* b = reinterpret_cast<const T*>(second.data());
            for (uint32_t byte = 0; byte < count / 8; byte++) {
                uint32_t bits = 0;
                for (uint32_t bit = 0; bit < 8; bit++) {
                    const uint32_t i = byte * 8 + bit;
                    bits |= compare_values(widen(a[i]), widen(right(b, i)), mode) ? 1u << bit : 0u;
                }
                dst.data()[byte] = static_cast<uint8_t>(bits);
            }
        });
}

template <class T, class Other>
inline void select(const LocalTensor<T>& dst, const LocalTensor<uint8_t>& selMask, const LocalTensor<T>& src0,
                   const LocalTensor<T>& src1, const Lanes& lanes, const BinaryRepeatParams& params, bool second_tensor,
                   Other other) {
    static_assert(is_any_of<T, half, float>, "Select: expected half or float");
    constexpr const char* kName = "Select";
    constexpr uint32_t kElements = acl_attn::sim::kRepeatBytes / sizeof(T);
    Unit& unit = Unit::current();
    if (unit.checking()) {
        require(unit.role() == acl_attn::sim::Role::vector && dst.space() == Space::ub && src0.space() == Space::ub &&
                    src1.space() == Space::ub && selMask.space() == Space::ub,
                kName, "dst, selMask, src: expected UB, on a vector core");
        check_lanes(kName, lanes, sizeof(T));
    }
    const Strides target{params.dstBlkStride, params.dstRepStride};
    const Strides first{params.src0BlkStride, params.src0RepStride};
    const Strides second{params.src1BlkStride, params.src1RepStride};
    const uint64_t count = lanes.counted() ? lanes.count() : uint64_t{lanes.repeats()} * kElements;
    acl_attn::sim::issue(
        unit, Pipe::v, kName,
        [&](Operation& operation) {
            operation.work.repeats = lanes.instructions(sizeof(T));
            reads(operation, selMask, {0, (count + 7) / 8});
            touch_lanes<T>(lanes, first, [&](const Piece& p) { reads(operation, src0, p); });
            if (second_tensor) touch_lanes<T>(lanes, second, [&](const Piece& p) { reads(operation, src1, p); });
            touch_lanes<T>(lanes, target, [&](const Piece& p) { writes(operation, dst, p); });
        },
        [=] {
            const uint8_t* bits = selMask.data();
            const auto choose = [&](uint64_t i, T a, T b) { return (bits[i / 8] >> (i % 8) & 1) != 0 ? a : b; };
            if (lanes.counted()) {
                T* out = reinterpret_cast<T*>(dst.data());
                const T* a = reinterpret_cast<const T*>(src0.data());
                const T* b = reinterpret_cast<const T*>(src1.data());
                for (uint64_t i = 0; i < count; i++) out[i] = choose(i, a[i], other(b + i));
                return;
            }
            for (uint32_t repeat = 0; repeat < lanes.repeats(); repeat++) {
                for (uint32_t i = 0; i < lanes.count(); i++) {
                    if (!lanes.active(i)) continue;
                    *chunk_of<T>(dst.data(), target, repeat, i) =
                        choose(uint64_t{repeat} * kElements + i, *chunk_of<T>(src0.data(), first, repeat, i),
                               other(chunk_of<T>(src1.data(), second, repeat, i)));
                }
            }
        });
}

}  // namespace detail

template <class T, class U>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
                    uint32_t count) {
    static_assert(std::is_same_v<U, uint8_t>, "Compare: expected a dst of uint8_t");
    detail::compare<T>("Compare", dst, src0, cmpMode, count, [](const T* b, uint32_t i) { return b[i]; }, &src1);
}

template <class T, class U>
inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                     uint32_t count) {
    static_assert(std::is_same_v<U, uint8_t>, "Compares: expected a dst of uint8_t");
    detail::compare<T>(
        "Compares", dst, src0, cmpMode, count, [src1Scalar](const T*, uint32_t) { return src1Scalar; },
        static_cast<const LocalTensor<T>*>(nullptr));
}

template <class T, class U>
inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                          uint32_t count) {
    Compares(dst, src0, src1Scalar, cmpMode, count);
}

// Bit 1 takes src0, bit 0 the scalar.
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
                   SELMODE selMode, uint32_t count) {
    static_assert(std::is_same_v<U, uint8_t>, "Select: expected a mask of uint8_t");
    detail::require(selMode == SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select", "selMode: expected VSEL_TENSOR_SCALAR_MODE");
    detail::select(dst, selMask, src0, src0, detail::Lanes::of_count(count), BinaryRepeatParams(), false,
                   [src1](const T*) { return src1; });
}

template <class T, class U, bool isSetMask = true>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
                   SELMODE selMode, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {
    static_assert(std::is_same_v<U, uint8_t>, "Select: expected a mask of uint8_t");
    detail::require(selMode == SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select", "selMode: expected VSEL_TENSOR_SCALAR_MODE");
    detail::select(dst, selMask, src0, src0, detail::Lanes::of_mask(mask, repeatTime), repeatParams, false,
                   [src1](const T*) { return src1; });
}

// Bit 1 takes src0, bit 0 src1.
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                   const LocalTensor<T>& src1, SELMODE selMode, uint32_t count) {
    static_assert(std::is_same_v<U, uint8_t>, "Select: expected a mask of uint8_t");
    detail::require(selMode == SELMODE::VSEL_TENSOR_TENSOR_MODE, "Select",
                    "selMode: expected VSEL_TENSOR_TENSOR_MODE; VSEL_CMPMASK_SPR is not supported yet");
    detail::select(dst, selMask, src0, src1, detail::Lanes::of_count(count), BinaryRepeatParams(), true,
                   [](const T* b) { return *b; });
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
