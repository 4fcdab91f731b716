// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector operations that place values: Duplicate, CreateVecIndex, Brcb, Copy, Gather.
#pragma once

#include "ascendc/vector_walk.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

#if __NPU_ARCH__ == 3510
template <class T>
constexpr bool is_duplicable =
    is_any_of<T, half, bfloat16_t, float, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>;
#else
template <class T>
constexpr bool is_duplicable = is_any_of<T, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>;
#endif

template <class T>
inline void duplicate(const LocalTensor<T>& dst, T value, const Lanes& lanes, const Strides& strides) {
    static_assert(is_duplicable<T>, "Duplicate: expected a type that this chip has it for");
    elementwise<T>("Duplicate", false, lanes, dst, strides, false, [value](T* d) { *d = value; });
}

inline void check_vector(const char* name, bool in_ub, bool aligned) {
    require(Unit::current().role() == acl_attn::sim::Role::vector, name, "expected to run on a vector core");
    require(in_ub, name, "dst, src: expected UB");
    require(aligned, name, "dst, src: expected addresses on 32 bytes");
}

}  // namespace detail

template <class T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const uint8_t repeatTime,
                      const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
    detail::duplicate(dst, scalarValue, detail::Lanes::of_mask(mask, repeatTime), {dstBlockStride, dstRepeatStride});
}
template <class T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[], const uint8_t repeatTime,
                      const uint16_t dstBlockStride, const uint8_t dstRepeatStride) {
    detail::duplicate(dst, scalarValue, detail::Lanes::of_bits(mask, repeatTime), {dstBlockStride, dstRepeatStride});
}
template <class T>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) {
    detail::duplicate(dst, scalarValue, detail::Lanes::of_count(count), {});
}

// first, first + 1, ...
template <class T>
inline void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count) {
    static_assert(detail::is_any_of<T, int16_t, int32_t, half, float>,
                  "CreateVecIndex: expected i16, i32, half or float");
    constexpr const char* kName = "CreateVecIndex";
    detail::Unit& unit = detail::Unit::current();
    if (unit.checking()) {
        detail::check_vector(kName, dst.space() == detail::Space::ub, dst.address() % 32 == 0);
        detail::require(count >= 1, kName, "count: expected at least 1");
    }
    acl_attn::sim::issue(
        unit, detail::Pipe::v, kName,
        [&](detail::Operation& operation) {
            operation.work.repeats = detail::Lanes::of_count(count).instructions(sizeof(T));
            detail::writes(operation, dst, {0, uint64_t{count} * sizeof(T)});
        },
        [=] {
            T* out = reinterpret_cast<T*>(dst.data());
            for (uint32_t i = 0; i < count; i++) {
                out[i] = detail::narrow<T>(
                    static_cast<detail::Wide<T>>(detail::widen(firstValue) + static_cast<detail::Wide<T>>(i)));
            }
        });
}

// Each repeat takes 8 elements and fills 8 blocks of 32 bytes, each with one of them.
template <class T>
inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTime,
                 const BrcbRepeatParams& repeatParams) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb: expected 16- or 32-bit elements");
    constexpr const char* kName = "Brcb";
    constexpr uint32_t kBlock = 32 / sizeof(T);
    detail::Unit& unit = detail::Unit::current();
    const BrcbRepeatParams params = repeatParams;
    if (unit.checking()) {
        detail::check_vector(kName, dst.space() == detail::Space::ub && src0.space() == detail::Space::ub,
                             dst.address() % 32 == 0 && src0.address() % 32 == 0);
        detail::require(repeatTime >= 1, kName, "repeatTime: expected 1 to 255, got 0, which 256 becomes");
    }
    acl_attn::sim::issue(
        unit, detail::Pipe::v, kName,
        [&](detail::Operation& operation) {
            operation.work.repeats = repeatTime;
            detail::reads(operation, src0, {0, uint64_t{repeatTime} * 8 * sizeof(T)});
            detail::writes(operation, dst, {0, 32, 8, params.dstBlkStride * 32, repeatTime, params.dstRepStride * 32});
        },
        [=] {
            const T* in = reinterpret_cast<const T*>(src0.data());
            for (uint32_t repeat = 0; repeat < repeatTime; repeat++) {
                for (uint32_t block = 0; block < 8; block++) {
                    T* out = reinterpret_cast<T*>(dst.data() +
                                                  (repeat * params.dstRepStride + block * params.dstBlkStride) * 32u);
                    for (uint32_t i = 0; i < kBlock; i++) out[i] = in[repeat * 8 + block];
                }
            }
        });
}

// UB to UB under a mask.
template <class T, bool isSetMask = true>
inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const uint8_t repeatTime,
                 const CopyRepeatParams& repeatParams) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Copy: expected 16- or 32-bit elements");
    detail::elementwise<T>(
        "Copy", false, detail::Lanes::of_mask(mask, repeatTime), dst,
        {repeatParams.dstStride, repeatParams.dstRepeatSize}, false, [](T* d, const T* a) { *d = *a; },
        detail::Source<T>{src, {repeatParams.srcStride, repeatParams.srcRepeatSize}});
}

// dst[i] = the element at byte srcBaseAddr + srcOffset[i] of src.
template <class T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
                   const uint32_t srcBaseAddr, const uint32_t count) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather: expected 16- or 32-bit elements");
    constexpr const char* kName = "Gather";
    detail::Unit& unit = detail::Unit::current();
    if (unit.checking()) {
        detail::check_vector(kName, dst.space() == detail::Space::ub && src.space() == detail::Space::ub,
                             dst.address() % 32 == 0 && src.address() % 32 == 0 && srcOffset.address() % 32 == 0);
        detail::require(count >= 1, kName, "count: expected at least 1");
        detail::require(srcBaseAddr < src.bytes(), kName, "srcBaseAddr: expected less than the bytes of src");
    }
    acl_attn::sim::issue(
        unit, detail::Pipe::v, kName,
        [&](detail::Operation& operation) {
            operation.work.repeats = detail::Lanes::of_count(count).instructions(sizeof(T));
            operation.work.slow_repeats = operation.work.repeats;
            detail::reads(operation, srcOffset, {0, uint64_t{count} * 4});
            detail::reads(operation, src, {srcBaseAddr, src.bytes() - srcBaseAddr});
            detail::writes(operation, dst, {0, uint64_t{count} * sizeof(T)});
        },
        [=] {
            const uint32_t* offsets = reinterpret_cast<const uint32_t*>(srcOffset.data());
            for (uint32_t i = 0; i < count; i++) {
                const uint64_t at = uint64_t{srcBaseAddr} + offsets[i];
                if (at % sizeof(T) != 0 || at + sizeof(T) > src.bytes()) {
                    detail::Unit::current().fault("Gather", "srcOffset: expected a byte of src on an element, got " +
                                                                std::to_string(offsets[i]) + " at index " +
                                                                std::to_string(i));
                }
                std::memcpy(dst.data() + uint64_t{i} * sizeof(T), src.data() + at, sizeof(T));
            }
        });
}

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
