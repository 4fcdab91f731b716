// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The metadata tensor's task list: which core computes which rows against which columns. A row is a (query token, head)
// pair, token-major; rows are taken in blocks, and so are the columns that a block of rows sees: first those of the
// original stream, then those of the compressed one. Pure arithmetic, the same as the vendor's plan word for word.
#pragma once

#include <cstdint>
#include <vector>

namespace acl_attn::ops::sparse {

// --- The tensor: 1024 words.

inline constexpr int kMetadataWords = 1024;
inline constexpr int kMaxCubeCores = 36;
inline constexpr int kMaxVectorCores = 72;

// Words of a cube core, from cube_word(core) on.
enum CubeField : int { kEnable, kStartBatch, kStartRows, kStartColumns, kEndBatch, kEndRows, kEndColumns, kFirstSlot,
                       kMostColumnBlocks, kCubeFields };
// Words of a vector core, which reduces partial results of rows that several cube cores share.
enum VectorField : int { kReduce, kReduceBatch, kReduceRows, kReduceSlot, kReduceSlots, kReduceFirstRow,
                         kReduceRowCount, kReduceUnused, kVectorFields };

constexpr int cube_word(int core) { return core * kCubeFields; }
constexpr int vector_word(int core) { return kMaxCubeCores * kCubeFields + core * kVectorFields; }
inline constexpr int kTaskWords = vector_word(kMaxVectorCores);  // the words behind are not the device's

// --- What the plan depends on.

// The cores' ways of working: how large a block is, and whether two cores share the heads of one.
struct Blocking {
    int64_t rows = 0;      // of a block of rows
    int64_t columns = 0;   // of a block of columns
    int copies = 1;        // cube cores that take part in every task, each with its share of the heads
};

struct Cores {
    int cube = 0;
    int vector = 0;
};

// A length that is not known: as large as any.
inline constexpr int64_t kUnknownLength = INT32_MAX;

struct TaskSequence {
    int64_t q = 0;
    int64_t ori = 0;
    int64_t cmp = 0;
    int64_t residual = 0;
    const int32_t* ori_topk = nullptr;  // [q], entries of each token's list that count; null: all
    const int32_t* cmp_topk = nullptr;
};

struct TaskRules {
    int64_t heads = 0;
    Blocking blocking;
    Cores cores;
    bool has_ori = false;
    bool has_cmp = false;
    int64_t ori_topk = 0;  // entries of a list; 0: no list
    int64_t cmp_topk = 0;
    int64_t cmp_ratio = 1;
    int64_t ori_mask_mode = 0;
    int64_t cmp_mask_mode = 0;
    int64_t win_left = -1;
    int64_t win_right = -1;
    bool cmp_follows_ori = false;     // compressed columns go by the original ones', not by a length of their own
    bool is_batch_consistent = false; // rows are cut into parts whose sizes depend on nothing but the row
};

// Writes words 0 .. kTaskWords - 1, all of them.
void write_task_list(const TaskRules& rules, const std::vector<TaskSequence>& sequences, uint32_t* words);

}  // namespace acl_attn::ops::sparse
