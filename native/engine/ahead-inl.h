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

    // About how often advance() will be called.
    void spread(int calls) {
        int64_t lines = 0;
        for (int p = 0; p < parts_count_; p++) lines += (parts_[p].bytes + kLine - 1) / kLine * parts_[p].count;
        lines = (lines + calls - 1) / (calls > 0 ? calls : 1);
        lines_ = static_cast<int>(lines < kMostLines ? lines : kMostLines);
        enter();
    }

    __attribute__((always_inline)) void advance() {
        for (int n = lines_; n > 0 && part_ < parts_count_; n--) {
            prefetch_to_l2(address_ + byte_);
            byte_ += kLine;
            if (byte_ < bytes_) continue;
            byte_ = 0;
            if (++row_ == parts_[part_].count) part_++, row_ = 0;
            enter();
        }
    }

private:
    static constexpr int kParts = 4;
    static constexpr int64_t kLine = 64;
    static constexpr int64_t kMostLines = 6;  // at once: with more, products take longer than is gained

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

    void enter() {
        if (part_ == parts_count_) return;
        address_ = parts_[part_].row(row_);
        bytes_ = parts_[part_].bytes;
    }

    Part parts_[kParts] = {};
    int parts_count_ = 0;
    int part_ = 0, row_ = 0, lines_ = 0;
    const char* address_ = nullptr;
    int64_t byte_ = 0, bytes_ = 0;
};

}  // namespace
}  // namespace acl_attn::engine
