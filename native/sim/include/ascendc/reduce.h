// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions: one result per repeat of 256 bytes (ReduceRepeat, WholeReduce*), or per block of 32 (ReduceDataBlock,
// BlockReduce*). Sums are those of a binary tree over neighbours, elements outside of the mask left out.
#pragma once

#include "ascendc/vector_walk.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

struct Reduced {
    float value;
    uint32_t index;
    bool any;
};

inline Reduced reduce_pair(ReduceType type, const Reduced& a, const Reduced& b) {
    if (!b.any) return a;
    if (!a.any) return b;
    switch (type) {
        case ReduceType::SUM: return {a.value + b.value, a.index, true};
        case ReduceType::MAX: return b.value > a.value || b.value != b.value ? b : a;
        case ReduceType::MIN: return b.value < a.value || b.value != b.value ? b : a;
    }
    return a;
}

// Elements [0, count) of the active ones; count is a power of two.
template <class T>
inline Reduced reduce_tree(ReduceType type, const T* const* elements, const Lanes& lanes, uint32_t first,
                           uint32_t count) {
    if (count == 1) {
        if (!lanes.active(first)) return {0, 0, false};
        return {static_cast<float>(widen(*elements[first])), first, true};
    }
    return reduce_pair(type, reduce_tree(type, elements, lanes, first, count / 2),
                       reduce_tree(type, elements, lanes, first + count / 2, count / 2));
}

struct Results {
    uint32_t per_repeat;  // 1 or 8
    ReduceOrder order;    // of the single result
    uint32_t width() const {
        return order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_INDEX_VALUE ? 2 : 1;
    }
};

// The index as the device stores it: an integer's bits in the place of an element.
template <class T>
inline T index_code(uint32_t index) {
    T code{};
    if constexpr (sizeof(T) == 2) {
        const uint16_t bits = static_cast<uint16_t>(index);
        std::memcpy(&code, &bits, sizeof bits);
    } else {
        std::memcpy(&code, &index, sizeof index);
    }
    return code;
}

template <class T>
inline void reduce(const char* name, ReduceType type, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                   const Lanes& lanes, int32_t dst_step, const Strides& strides, const Results& results) {
    static_assert(is_any_of<T, half, float>, "reduction: expected half or float");
    constexpr uint32_t kElements = acl_attn::sim::kRepeatBytes / sizeof(T);
    constexpr uint32_t kBlock = 32 / sizeof(T);
    Unit& unit = Unit::current();
    const uint64_t result_bytes = uint64_t{results.per_repeat} * results.width() * sizeof(T);
    const int64_t step = dst_step * static_cast<int64_t>(result_bytes);
    if (unit.checking()) {
        require(unit.role() == acl_attn::sim::Role::vector, name, "expected to run on a vector core");
        check_lanes(name, lanes, sizeof(T));
        require(dst.space() == Space::ub && src.space() == Space::ub, name, "dst, src: expected UB");
        require(src.address() % 32 == 0, name, "src: expected an address on 32 bytes");
        require(dst.address() % result_bytes == 0, name, "dst: expected an address on the size of a result");
        require(dst_step >= 0, name, "dstRepStride: expected at least 0");
    }
    acl_attn::sim::issue(
        unit, Pipe::v, name,
        [&](Operation& operation) {
            operation.work.repeats = lanes.repeats();
            operation.work.slow_repeats = lanes.repeats();
            touch_lanes<T>(lanes, strides, [&](const Piece& p) { reads(operation, src, p); });
            writes(operation, dst, {0, result_bytes, lanes.repeats(), step});
        },
        [=] {
            for (uint32_t repeat = 0; repeat < lanes.repeats(); repeat++) {
                const T* elements[kElements];
                for (uint32_t i = 0; i < kElements; i++) elements[i] = chunk_of<T>(src.data(), strides, repeat, i);
                T* out = reinterpret_cast<T*>(dst.data() + repeat * step);
                if (results.per_repeat == 8) {
                    for (uint32_t block = 0; block < 8; block++) {
                        const Reduced reduced = reduce_tree(type, elements, lanes, block * kBlock, kBlock);
                        if (reduced.any) out[block] = narrow<T>(reduced.value);
                    }
                    continue;
                }
                const Reduced reduced = reduce_tree(type, elements, lanes, 0, kElements);
                const T value = narrow<T>(reduced.value);
                const T index = index_code<T>(reduced.index);
                switch (results.order) {
                    case ReduceOrder::ORDER_VALUE_INDEX: out[0] = value, out[1] = index; break;
                    case ReduceOrder::ORDER_INDEX_VALUE: out[0] = index, out[1] = value; break;
                    case ReduceOrder::ORDER_ONLY_VALUE: out[0] = value; break;
                    case ReduceOrder::ORDER_ONLY_INDEX: out[0] = index; break;
                }
            }
        });
}

inline uint8_t repeat_of(const char* name, int32_t repeats) {
    require(repeats >= 1 && repeats <= 255, name, "repeatTime: expected 1 to 255");
    return static_cast<uint8_t>(repeats);
}

inline Strides reduce_strides(const char* name, int32_t block, int32_t repeat) {
    require(block >= 0 && block <= 65535 && repeat >= 0 && repeat <= 255, name,
            "srcBlkStride, srcRepStride: expected at most 65535 and 255");
    return {static_cast<uint32_t>(block), static_cast<uint32_t>(repeat)};
}

}  // namespace detail

#define ACL_ATTN_SIM_REDUCE_REPEAT(Name, type, Order, order)                                                      \
    template <class T, bool isSetMask = true>                                                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,                    \
                     const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,            \
                     const int32_t srcRepStride Order) {                                                          \
        detail::reduce(#Name, type, dst, src, detail::Lanes::of_mask(mask, detail::repeat_of(#Name, repeatTime)), \
                       dstRepStride, detail::reduce_strides(#Name, srcBlkStride, srcRepStride), {1, order});      \
    }                                                                                                             \
    template <class T, bool isSetMask = true>                                                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],                 \
                     const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,            \
                     const int32_t srcRepStride Order) {                                                          \
        detail::reduce(#Name, type, dst, src, detail::Lanes::of_bits(mask, detail::repeat_of(#Name, repeatTime)), \
                       dstRepStride, detail::reduce_strides(#Name, srcBlkStride, srcRepStride), {1, order});      \
    }
#define ACL_ATTN_SIM_ORDER , ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX

ACL_ATTN_SIM_REDUCE_REPEAT(WholeReduceMax, ReduceType::MAX, ACL_ATTN_SIM_ORDER, order)
ACL_ATTN_SIM_REDUCE_REPEAT(WholeReduceMin, ReduceType::MIN, ACL_ATTN_SIM_ORDER, order)
ACL_ATTN_SIM_REDUCE_REPEAT(WholeReduceSum, ReduceType::SUM, , ReduceOrder::ORDER_ONLY_VALUE)
#undef ACL_ATTN_SIM_REDUCE_REPEAT
#undef ACL_ATTN_SIM_ORDER

// Here repeatTime stands before the mask.
#define ACL_ATTN_SIM_REDUCE_BLOCK(Name, type)                                                                     \
    template <class T, bool isSetMask = true>                                                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,              \
                     const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,                  \
                     const int32_t srcRepStride) {                                                                \
        detail::reduce(#Name, type, dst, src, detail::Lanes::of_mask(mask, detail::repeat_of(#Name, repeatTime)), \
                       dstRepStride, detail::reduce_strides(#Name, srcBlkStride, srcRepStride),                   \
                       {8, ReduceOrder::ORDER_ONLY_VALUE});                                                       \
    }                                                                                                             \
    template <class T, bool isSetMask = true>                                                                     \
    inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,              \
                     const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,               \
                     const int32_t srcRepStride) {                                                                \
        detail::reduce(#Name, type, dst, src, detail::Lanes::of_bits(mask, detail::repeat_of(#Name, repeatTime)), \
                       dstRepStride, detail::reduce_strides(#Name, srcBlkStride, srcRepStride),                   \
                       {8, ReduceOrder::ORDER_ONLY_VALUE});                                                       \
    }

ACL_ATTN_SIM_REDUCE_BLOCK(BlockReduceMax, ReduceType::MAX)
ACL_ATTN_SIM_REDUCE_BLOCK(BlockReduceMin, ReduceType::MIN)
ACL_ATTN_SIM_REDUCE_BLOCK(BlockReduceSum, ReduceType::SUM)
#undef ACL_ATTN_SIM_REDUCE_BLOCK

}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
