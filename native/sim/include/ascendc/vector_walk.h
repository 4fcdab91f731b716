// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// How a vector instruction walks through its operands: `repeat` times 256 bytes (of the widest type), each as 8 blocks
// of 32 bytes with a step between blocks and one between repeats, under a mask; or a plain count of elements.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "ascendc/tensor.h"

namespace AscendC {
inline namespace ACL_ATTN_SIM_CHIP {
namespace detail {

struct Strides {  // in blocks of 32 bytes
    uint32_t block = 1;
    uint32_t repeat = 8;
};

class Lanes {
public:
    static Lanes of_count(uint64_t count) {
        Lanes lanes;
        lanes.counted_ = true;
        lanes.count_ = count;
        return lanes;
    }
    static Lanes of_mask(uint64_t elements, uint32_t repeats) {
        Lanes lanes;
        lanes.repeats_ = repeats;
        lanes.low_ = elements >= 64 ? ~uint64_t{0} : (uint64_t{1} << elements) - 1;
        lanes.high_ = elements >= 128 ? ~uint64_t{0} : elements > 64 ? (uint64_t{1} << (elements - 64)) - 1 : 0;
        lanes.count_ = elements;
        return lanes;
    }
    static Lanes of_bits(const uint64_t* mask, uint32_t repeats) {
        Lanes lanes;
        lanes.repeats_ = repeats;
        lanes.low_ = mask[0];
        lanes.high_ = mask[1];
        for (uint32_t bit = 0; bit < 128; bit++) {
            if (lanes.active(bit)) lanes.count_ = bit + 1;
        }
        return lanes;
    }

    bool counted() const { return counted_; }
    uint64_t count() const { return count_; }  // of_mask, of_bits: one past the last active element of a repeat
    uint32_t repeats() const { return repeats_; }
    bool active(uint32_t element) const {
        return ((element < 64 ? low_ >> element : high_ >> (element - 64)) & 1) != 0;
    }
    bool prefix() const { return counted_ || (*this == of_mask(count_, repeats_)); }
    bool operator==(const Lanes& other) const { return low_ == other.low_ && high_ == other.high_; }

    // Instructions of 256 bytes for elements of `bytes` bytes.
    uint64_t instructions(uint32_t bytes) const {
        const uint64_t each = acl_attn::sim::kRepeatBytes / bytes;
        return counted_ ? (count_ + each - 1) / each : repeats_;
    }

private:
    bool counted_ = false;
    uint64_t count_ = 0;
    uint32_t repeats_ = 1;
    uint64_t low_ = 0;
    uint64_t high_ = 0;
};

inline void check_lanes(const char* name, const Lanes& lanes, uint32_t widest_bytes) {
    if (lanes.counted()) {
        require(lanes.count() >= 1, name, "count: expected at least 1");
        return;
    }
    require(lanes.repeats() >= 1, name, "repeat: expected 1 to 255, got 0, which 256 becomes");
    require(lanes.count() >= 1 && lanes.count() <= acl_attn::sim::kRepeatBytes / widest_bytes, name,
            "mask: expected 1 to the elements of 256 bytes");
}

// The bytes of one operand of the walk.
template <class T, class Touch>
inline void touch_lanes(const Lanes& lanes, const Strides& strides, Touch&& touch_piece) {
    if (lanes.counted()) {
        touch_piece(Piece{0, bytes_of<T>(lanes.count())});
        return;
    }
    const int64_t block_step = int64_t{strides.block} * 32;
    const int64_t repeat_step = int64_t{strides.repeat} * 32;
    const uint64_t bytes = bytes_of<T>(lanes.count());
    if (strides.block == 1 && lanes.prefix()) {
        touch_piece(Piece{0, bytes, lanes.repeats(), repeat_step});
        return;
    }
    const uint64_t whole = bytes / 32;
    touch_piece(Piece{0, 32, whole, block_step, lanes.repeats(), repeat_step});
    touch_piece(Piece{whole * static_cast<uint64_t>(block_step), bytes % 32, 1, 0, lanes.repeats(), repeat_step});
}

template <class T>
inline T* chunk_of(uint8_t* base, const Strides& strides, uint32_t repeat, uint32_t element) {
    constexpr uint32_t kBlock = 32 / sizeof(T);
    return reinterpret_cast<T*>(base +
                                (uint64_t{repeat} * strides.repeat + uint64_t{element / kBlock} * strides.block) * 32) +
           element % kBlock;
}

// Calls lane(D*, const S*...) for each active element of destination and sources.
template <class D, class... S>
class Walk {
public:
    static constexpr uint32_t kWidest = std::max({sizeof(D), sizeof(S)...});

    template <class Lane, size_t... I>
    static void run(const Lanes& lanes, uint8_t* dst, const Strides& dst_strides, uint8_t* const* src,
                    const Strides* src_strides, Lane&& lane, std::index_sequence<I...>) {
        if (lanes.counted()) {
            D* out = reinterpret_cast<D*>(dst);
            for (uint64_t i = 0; i < lanes.count(); i++) lane(out + i, reinterpret_cast<const S*>(src[I]) + i...);
            return;
        }
        constexpr uint32_t kChunk = 32 / kWidest;
        for (uint32_t repeat = 0; repeat < lanes.repeats(); repeat++) {
            for (uint32_t first = 0; first < lanes.count(); first += kChunk) {
                D* out = chunk_of<D>(dst, dst_strides, repeat, first);
                // In arrays, so that the addresses are computed once a chunk.
                const std::tuple<const S*...> in{chunk_of<S>(src[I], src_strides[I], repeat, first)...};
                for (uint32_t i = 0; i < kChunk; i++) {
                    if (lanes.active(first + i)) lane(out + i, std::get<I>(in) + i...);
                }
            }
        }
    }
};

template <class T>
struct Source {
    LocalTensor<T> tensor;
    Strides strides;
};

// One vector instruction, element by element.
template <class D, class Lane, class... S>
inline void elementwise(const char* name, bool slow, const Lanes& lanes, const LocalTensor<D>& dst,
                        const Strides& dst_strides, bool reads_dst, Lane lane, const Source<S>&... sources) {
    Unit& unit = Unit::current();
    if (unit.checking()) {
        require(unit.role() == acl_attn::sim::Role::vector, name, "expected to run on a vector core");
        check_lanes(name, lanes, Walk<D, S...>::kWidest);
        require(dst.space() == Space::ub && ((sources.tensor.space() == Space::ub) && ...), name,
                "dst, src: expected UB");
        require(dst.address() % 32 == 0 && ((sources.tensor.address() % 32 == 0) && ...), name,
                "dst, src: expected addresses on 32 bytes");
        if (lanes.counted()) {
            [[maybe_unused]] const uint64_t end = dst.address() + lanes.count() * sizeof(D);
            [[maybe_unused]] const auto apart = [&](uint64_t address, uint64_t bytes) {
                return address == dst.address() || address >= end || address + bytes <= dst.address();
            };
            require((apart(sources.tensor.address(), lanes.count() * sizeof(S)) && ...), name,
                    "dst, src: expected the same address or no overlap");
        }
    }
    acl_attn::sim::issue(
        unit, Pipe::v, name,
        [&](Operation& operation) {
            operation.work.repeats = lanes.instructions(Walk<D, S...>::kWidest);
            operation.work.slow_repeats = slow ? operation.work.repeats : 0;
            (touch_lanes<S>(lanes, sources.strides, [&](const Piece& p) { reads(operation, sources.tensor, p); }), ...);
            if (reads_dst) touch_lanes<D>(lanes, dst_strides, [&](const Piece& p) { reads(operation, dst, p); });
            touch_lanes<D>(lanes, dst_strides, [&](const Piece& p) { writes(operation, dst, p); });
        },
        [=] {
            uint8_t* const data[] = {sources.tensor.data()..., nullptr};
            const Strides strides[] = {sources.strides..., Strides{}};
            Walk<D, S...>::run(lanes, dst.data(), dst_strides, data, strides, lane, std::index_sequence_for<S...>{});
        });
}

}  // namespace detail
}  // namespace ACL_ATTN_SIM_CHIP
}  // namespace AscendC
