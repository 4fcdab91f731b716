// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Most rows of most mask tensors hide all or none of a tile's keys, or those at its ends.
#pragma once

#include "engine/rows-inl.h"

namespace acl_attn::engine {
namespace {

// What was found in bytes of a mask.
class MaskBytes {
public:
    void add(const uint8_t* mask, int count) {
        int i = 0;
        for (; i + kLanes <= count; i += kLanes) add(load<vb>(mask + i), vb{});
        if (i < count) add(load_part<vb>(mask + i, count - i), beyond(count - i));
    }
    bool any_hidden() const { return has_bits(hidden_); }
    bool any_shown() const { return has_bits(shown_); }

private:
    void add(vb bytes, vb ignored) {
        hidden_ |= bytes;
        shown_ |= reinterpret_cast<vb>(bytes == 0) & ~ignored;
    }
    static vb beyond(int count) {
        vb lanes = ~vb{};
        for (int i = 0; i < count; i++) lanes[i] = 0;
        return lanes;
    }
    static bool has_bits(vb bytes) {
        uint32_t words[kLanes / 4], any = 0;
        static_assert(kLanes % 4 == 0, "whole words");
        store(words, bytes);
        for (const uint32_t word : words) any |= word;
        return any != 0;
    }

    vb hidden_ = {}, shown_ = {};
};

// What a mask hides of a tile from a group of rows.
class TileMask {
public:
    TileMask() = default;

    // Of rows [row_begin, row_end), and columns [begin, end), which stand for keys from first_key on.
    TileMask(const RowBlock& block, int64_t row_begin, int64_t row_end, int64_t first_key, TileColumns columns) {
        bool any_hidden = false;
        int first = kParts, last = -1;
        for (int part = columns.begin / kPart; part * kPart < columns.end; part++) {
            const int from = static_cast<int>(larger(part * kPart, columns.begin));
            const int to = static_cast<int>(smaller((part + 1) * kPart, columns.end));
            MaskBytes bytes;
            for (int64_t row = row_begin; row < row_end; row++) {
                bytes.add(mask_row(block, row) + first_key + from, to - from);
            }
            any_hidden |= bytes.any_hidden();
            if (!bytes.any_shown()) continue;
            if (first == kParts) first = part;
            last = part;
        }
        const int state = last < 0 ? kAll : any_hidden ? kSome : kNothing;
        code_ = static_cast<uint8_t>(state | first % kParts << 2 | (last & (kParts - 1)) << 5);
    }

    bool is_known() const { return code_ != 0; }
    bool hides_all() const { return state() == kAll; }
    bool hides_some() const { return state() == kSome; }
    // Outside these columns it hides all.
    TileColumns shown() const {
        if (state() == kNothing) return {0, kTileKeys};
        if (state() == kAll) return {0, 0};
        return {(code_ >> 2) % kParts * kPart, ((code_ >> 5) + 1) * kPart};
    }

    // Threads may meet: they write the same.
    static TileMask read(const uint8_t* code) {
        TileMask mask;
        mask.code_ = __atomic_load_n(code, __ATOMIC_RELAXED);
        return mask;
    }
    void write(uint8_t* code) const { __atomic_store_n(code, code_, __ATOMIC_RELAXED); }

private:
    enum State { kUnknown, kNothing, kSome, kAll };
    static constexpr int kParts = 8, kPart = kTileKeys / kParts;

    int state() const { return code_ % 4; }

    uint8_t code_ = 0;  // two bits of state, and the first and last part that are not all hidden
};

}  // namespace
}  // namespace acl_attn::engine
