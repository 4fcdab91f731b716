// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a problem into work items that threads can take in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention.h"

namespace acl_attn::engine {

struct WorkItem {
    enum Kind : uint8_t { prefill, few_rows, decode, padding };
    Kind kind = prefill;
    int32_t sequence = 0;
    int32_t kv_head = 0;       // the first; padding: all heads
    int32_t kv_heads = 1;
    int64_t row_begin = 0;     // merged rows, see kernels.h
    int64_t row_end = 0;
    int64_t key_begin = 0;
    int64_t key_end = 0;
    int32_t merge = -1;        // index of the merge that this split belongs to
    int64_t partial_row = 0;   // the split's first row among all partials
};

// Rows whose keys are split: whoever finishes the last split combines them.
struct Merge {
    int32_t sequence = 0;
    int32_t kv_head = 0;
    int32_t kv_heads = 1;
    int64_t row_begin = 0;
    int64_t row_end = 0;
    int32_t splits = 0;
    int64_t partial_row = 0;  // of split 0; split s follows after s * kv_heads * (row_end - row_begin) rows
};

struct Schedule {
    std::vector<WorkItem> items;  // large ones first, as far as cache reuse allows
    std::vector<Merge> merges;
    int64_t partial_rows = 0;
    std::vector<int64_t> tile_masks;  // of each sequence, where what is known of its mask begins; empty: no masks
    int64_t tile_mask_bytes = 0;
    int32_t block_rows = 0;       // most rows of a prefill item; 0: there are none
    int32_t few_rows = 0;         // most rows, of all heads in whole groups, of an item of few rows; 0: there are none
    int32_t decode_rows = 0;      // most rows, of all heads, of a decode item; 0: there are none
};

// How many rows the kernels take.
struct RowLimits {
    int group;            // that prefill computes together
    int block_rows;       // most of a prefill item
    int stream_rows;      // most of one KV head that decode takes
    int few_rows = 0;     // most of one KV head that the kernel of few rows takes, if decode does not; 0: there is none
};

constexpr int64_t kItemsPerThread = 3;  // below, blocks are made smaller

// How many of `threads` so many multiply-adds are worth, while they are awake.
int worthwhile_threads(double multiply_adds, int threads);

// Whether so many take longer than waking a thread does: 20 to 50 microseconds in a virtual machine.
constexpr bool is_worth_waking(double multiply_adds) { return multiply_adds >= 4e6; }

// What a problem takes, about, and how many of `threads` that is worth.
struct Effort {
    double multiply_adds;
    int threads;
};
Effort effort_of(const Problem& problem, int threads);

// Of a sequence's keys, the smallest that prefill has.
int64_t tiles_of(const Sequence& sequence);

// The items depend on the effort only in how many rows they take together, which does not change a result.
Schedule make_schedule(const Problem& problem, const Effort& effort, const RowLimits& limits);

}  // namespace acl_attn::engine
