// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Brings rows close that will be needed, a few cache lines at a time between products, so that nobody waits for memory.
// Evenly: more requests at once than the core can keep open would stall the products.
#pragma once

#include "engine/simd-inl.h"

namespace acl_attn::engine {
namespace {

// Rows in up to kParts parts, one part after another.
class Ahead {
public:
    // `count` rows of so many bytes, at addresses that must stay where they are.
    void add(const void* const* rows, int count, int64_t bytes) {
        if (count > 0 && bytes > 0) parts_[parts_count_++] = {rows, nullptr, count, 0, 0, count, bytes};
    }
    // Rows of `tokens` tokens' heads.
    void add(const void* first, int64_t token_stride, int tokens, int64_t head_stride, int heads, int64_t bytes) {
        if (tokens == 0) return;
        if (head_stride == bytes) bytes *= heads, heads = 1;
        parts_[parts_count_++] = {nullptr, static_cast<const char*>(first), tokens, token_stride, head_stride,
                                  tokens * heads, bytes};
    }

    static constexpr int kStretch = 128;  // two lines, for half the work of asking for one at a time
    static constexpr int kMostStretches = 3;   // at once: with more, products of many rows take longer than is gained

    // The part of what is left that the next spread() is about; all of it, unless told otherwise.
    void set_share(float share) { share_ = share; }

    // About how often advance() will be called before the share should have been asked for; and the most stretches of a
    // call.
    void spread(int calls, int most = kMostStretches) {
        int64_t left = address_ < end_ ? (end_ - address_ + kStretch - 1) / kStretch : 0;
        int row = row_;
        for (int p = part_; p < parts_count_; p++, row = 0) {
            left += (parts_[p].bytes + kStretch - 1) / kStretch * (parts_[p].count - row);
        }
        const float rate = share_ * static_cast<float>(left) / static_cast<float>(calls > 0 ? calls : 1);
        const float limit = static_cast<float>(most);
        rate_ = static_cast<int>((rate < limit ? rate : limit) * kOne) + 1;
    }

    __attribute__((always_inline)) void advance() {
        for (credit_ += rate_; credit_ >= kOne; credit_ -= kOne) {
            if (address_ >= end_ && !enter()) return;
            prefetch_to_l2(address_);
            prefetch_to_l2(address_ + kStretch / 2);
            address_ += kStretch;
        }
    }

private:
    static constexpr int kParts = 4;
    static constexpr int kOne = 256;  // parts of a stretch that credit is counted in

    struct Part {
        const void* const* rows;  // null: they are `tokens` x heads
        const char* first;
        int tokens;
        int64_t token_stride, head_stride;
        int count;
        int64_t bytes;

        const char* row(int i) const {
            if (rows != nullptr) return static_cast<const char*>(rows[i]);
            return first + i % tokens * token_stride + i / tokens * head_stride;
        }
    };

    // The next row and those that continue it; false: there is none.
    __attribute__((noinline)) bool enter() {
        if (part_ == parts_count_) {
            rate_ = credit_ = 0;
            return false;
        }
        address_ = parts_[part_].row(row_);
        end_ = address_;
        do {
            end_ += parts_[part_].bytes;
            if (++row_ == parts_[part_].count) part_++, row_ = 0;
        } while (row_ > 0 && parts_[part_].row(row_) == end_);
        return true;
    }

    Part parts_[kParts] = {};
    int parts_count_ = 0;
    int part_ = 0, row_ = 0;     // the next one
    int rate_ = 0, credit_ = 0;  // of each call; and what is left of calls
    float share_ = 1.0f;
    const char *address_ = nullptr, *end_ = nullptr;
};

}  // namespace
}  // namespace acl_attn::engine
