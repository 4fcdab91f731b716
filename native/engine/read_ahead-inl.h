// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Brings keys and values close before decode needs them. A core reads memory at its full rate only while it has more
// requests open than it may have by itself: the rest must come from the processor's prefetcher, which follows streams
// inside pages. So what comes next is asked for line by line, evenly over the products, and in two places in turns.
#pragma once

#include <cstdint>

#include "engine/kernels.h"
#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

class ReadAhead {
public:
    // Rows in the order in which they are read: tiles of keys and of values in turns, and in each the rows of one head
    // after the other.
    struct Rows {
        const void* const* keys;         // of the first head
        const void* const* values;       // null: there are only keys
        int64_t key_bytes, value_bytes;  // of a row
        int64_t key_head_stride, value_head_stride;
        int heads = 1;
        int first_tile;                  // rows; the others have kStreamKeys
        int count;
    };

    ReadAhead() { finish(streams_[0]), finish(streams_[1]), count_stretches(); }  // asks for nothing

    // While a group of rows is read, the next one is to be asked for.
    ReadAhead(const Rows& rows, int group) : r_(rows), half_(group / 2) {
        frontier_.tile_end = r_.first_tile;
        skip(group);
        begin_group();
        count_stretches();
    }

    // So many bytes are read. Cheap where they are a constant multiple of kStep.
    __attribute__((always_inline)) void advance(int bytes) {
        for (int n = bytes / kStep; n > 0; n--) ask();
        if (bytes % kStep == 0) return;
        bytes_ += bytes % kStep;
        if (bytes_ < kStep) return;
        bytes_ -= kStep;
        ask();
    }

private:
    struct Place {
        int row = 0, tile_begin = 0, tile_end = 0, head = 0;
        bool is_value = false;
    };
    struct Stream {
        const char* at = nullptr;
        const char* end = nullptr;
        int left = -1;  // rows after this one; negative: at the end
        Place place;
    };

    static constexpr int kLine = 64, kStretch = 2 * kLine, kStep = 2 * kStretch;

    __attribute__((always_inline)) void ask() {
        const char *first = streams_[0].at, *second = streams_[1].at;
        prefetch_to_l2(first);
        prefetch_to_l2(second);
        prefetch_to_l2(first + kLine);
        prefetch_to_l2(second + kLine);
        streams_[0].at = first + kStretch;
        streams_[1].at = second + kStretch;
        if (--stretches_ <= 0) next_rows();
    }

    void step(Place& place, int rows) const {
        place.row += rows;
        if (place.row < place.tile_end) return;
        place.row = place.tile_begin;
        if (++place.head < r_.heads) return;
        place.head = 0;
        place.is_value = !place.is_value && r_.values != nullptr;
        if (place.is_value) return;
        place.row = place.tile_begin = place.tile_end;
        place.tile_end = place.row + kStreamKeys < r_.count ? place.row + kStreamKeys : r_.count;
    }

    void skip(int rows) {
        while (rows > 0 && frontier_.row < r_.count) {
            const int inside = frontier_.tile_end - frontier_.row;
            const int n = rows < inside ? rows : inside;
            step(frontier_, n);
            rows -= n;
        }
    }

    const char* address(const Place& place) const {
        const int64_t stride = place.is_value ? r_.value_head_stride : r_.key_head_stride;
        return static_cast<const char*>((place.is_value ? r_.values : r_.keys)[place.row]) + place.head * stride;
    }

    // At a row, and those that follow it in memory.
    void begin_row(Stream& stream) const {
        Place& place = stream.place;
        if (place.row >= r_.count) return finish(stream);
        stream.at = address(place);
        const int64_t bytes = place.is_value ? r_.value_bytes : r_.key_bytes;
        stream.end = stream.at + bytes;
        for (; stream.left > 0 && place.row + 1 < place.tile_end; stream.left--) {
            place.row++;
            if (address(place) != stream.end) {
                place.row--;
                return;
            }
            stream.end += bytes;
        }
    }

    // From now on what is near: what lies where nothing is would be looked for each time.
    void finish(Stream& stream) const {
        stream.at = reinterpret_cast<const char*>(r_.keys);
        stream.end = stream.at + (int64_t{1} << 40);
        stream.left = -1;
    }

    void begin_group() {
        for (Stream& stream : streams_) {
            stream.place = frontier_;
            stream.left = half_ - 1;
            begin_row(stream);
            skip(half_);
        }
    }

    __attribute__((noinline)) void next_rows() {
        for (Stream& stream : streams_) {
            if (stream.at < stream.end) continue;
            if (stream.left > 0) {
                stream.left--;
                step(stream.place, 1);
                begin_row(stream);
            } else {
                finish(stream);
            }
        }
        if (streams_[0].left < 0 && streams_[1].left < 0) begin_group();
        count_stretches();
    }

    void count_stretches() {
        const auto left = [](const Stream& stream) { return (stream.end - stream.at + kStretch - 1) / kStretch; };
        stretches_ = left(streams_[0]) < left(streams_[1]) ? left(streams_[0]) : left(streams_[1]);
    }

    Rows r_ = {};
    int half_ = 1;
    int bytes_ = 0;  // read, and not yet made up for
    int64_t stretches_ = 0;  // until one of the streams needs other rows
    Place frontier_;
    Stream streams_[2];
};

}  // namespace
}  // namespace acl_attn::engine
