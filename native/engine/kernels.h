// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What one instruction set offers: a table of functions, each compiled in its own translation unit. The structures here
// are plain data, because an inline function shared between those units could be merged by the linker into one that
// uses instructions which the processor lacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kinds.h"

namespace acl_attn::engine {

constexpr int kMr = 6;  // rows of the register block where products run on vectors

// Keys are cut into tiles on an absolute grid, so that a row's arithmetic does not depend on the rows computed beside
// it, and long sequences into splits on a coarser grid, computed separately and merged in order.
constexpr int kTileKeys = 256;         // prefill: keys packed at a time
constexpr int kScoreStride = kTileKeys + 16;  // not a power of two: rows would fall into the same cache sets
constexpr int kStreamKeys = 64;        // decode: keys between two updates of the running maximum
constexpr int kStreamSplit = 512;      // decode: keys of a split
constexpr int kTileSplit = 2048;       // prefill with few rows: keys of a split
constexpr int kStreamScoreStride = kStreamKeys + 16;
constexpr int kStreamRows = 16;        // decode: most merged rows of one KV head
constexpr int kStreamItemRows = 64;    // decode: most rows of all the KV heads that are computed together
constexpr int kMaxBlockRows = 384;     // prefill: most merged rows of a block, but for dense attention on AMX
constexpr int kStripRows = 192;        // prefill: most rows whose scores are held at a time
constexpr int kFewRows = 64;           // few rows: most merged rows of one KV head
constexpr int kFewItemRows = 256;      // few rows: most rows of all the KV heads that are computed together
constexpr int kFewTileKeys = 128;      // few rows: keys of a tile, so that all heads' fit caches beside the next ones
constexpr int kMaxDim = 576;
constexpr int kRowGap = 32;            // channels between copies of rows: 16 in a row would fall into few cache sets

// Bytes of a head's scale codes for a tile's keys, where groups of 32 channels have their own (group_scales-inl.h); as
// many more keys' may be read as are computed at once.
static constexpr int group_scale_bytes(int dim) { return ((dim + 31) / 32 * (kStreamKeys + 32) + 63) / 64 * 64; }

// Keys or values of one sequence; `base` is of the block's first KV head. Element (t, d) is at
//   base + row(t) + (d / chunk) * chunk_stride + bytes of d % chunk elements,
//   row(t) = table ? table[t / block_size] * block_stride + (t % block_size) * token_stride : t * token_stride.
// Strides are in bytes. A base of null: there are none.
struct KvView {
    const char* base;
    const int32_t* table;  // null: contiguous
    int64_t token_stride, head_stride, block_stride, chunk_stride;
    int32_t block_size, chunk, dim;
    Dtype dtype;
};

// The scales, or the offsets, of keys or values: that of token t, channel d of the block's first KV head is at
//   base + row(t) + (d / group) * group_stride, row as in KvView, and for prefix tokens prefix + t * token_stride.
struct ScaleView {
    const char* base;      // null: there are none
    const char* prefix;
    const int32_t* table;  // null: contiguous
    int64_t head_stride, token_stride, block_stride, group_stride;
    int32_t block_size, group;
    Dtype dtype;
};

// What some calls add to the keys or values of a KvView.
struct KvAddition {
    KvView prefix;            // rows of keys 0 .. prefix_len - 1; those of the KvView follow
    KvView rope;              // channels after the KvView's own
    ScaleView scale, offset;  // a stored x stands for (x + offset) * scale
};

struct BiasView {
    BiasKind kind;
    const char* base;  // tensor: of head 0, row 0, column 0
    int64_t head_stride, row_stride;  // bytes
    const float* slopes;
    int64_t distance;
};

// The state of a row's softmax over some keys, as a split leaves it behind.
struct RowState {
    float max;        // of the scores, -infinity if no key was seen
    float sum;        // of exp(score - max)
    float headroom;   // factor that is already in the accumulators (1, or less to keep huge values from overflowing)
};

// Where a block's results go: final rows, or (partial_out not null) an unnormalised partial.
struct RowSink {
    char* out;       // of token 0, head 0 of the group
    int64_t out_token_stride, out_head_stride;  // bytes
    Dtype out_dtype;
    Dtype query_dtype;
    int32_t first_head;         // head 0 of the group among all heads
    const void* sinks;          // one more logit for each head; null: none
    Dtype sinks_dtype;          // f16, bf16 or f32
    float empty_lse;            // of a row that sees no key
    const char* out_scale;      // null: no post-quantisation
    const char* out_offset;     // may be null
    Dtype out_scale_dtype;
    int64_t out_scale_stride;   // elements between channels: 0 or 1
    float* lse;      // may be null
    int64_t lse_token_stride, lse_head_stride;
    float* partial_out;         // [kv_heads][rows][dim_v], row_begin's first
    RowState* partial_state;    // [kv_heads][rows]
};

// Rows [row_begin, row_end) of the merged rows of kv_heads neighbouring KV heads against keys [key_begin, key_end).
// Merged row r is query token r / group, head r % group of its KV head's group.
struct RowBlock {
    const uint16_t* query;  // of token 0, head 0 of the first group
    int64_t query_token_stride, query_head_stride;
    int64_t query_rope_token_stride, query_rope_head_stride;
    const uint16_t* query_rope;  // likewise; null: none
    KvView key, value;
    KvAddition key_addition, value_addition;
    int64_t prefix_len;
    // Rows that the products cannot use where they lie are first copied, or dequantised to fp32, to a staging area.
    bool key_staged, value_staged;
    bool value_is_key;  // `value` has the addresses of `key`
    BiasView bias;
    const uint8_t* mask;  // of row 0, column 0; null: none
    int64_t mask_row_stride;
    // Prefill with a mask: what is known of it (mask-inl.h), [groups of rows][tiles of keys], shared by all heads;
    // zeros at first.
    uint8_t* tile_masks;
    int64_t tile_mask_stride;
    int64_t band_first, band_last;
    int64_t row_begin, row_end;
    int64_t key_begin, key_end;
    int32_t kv_heads;       // 1 in prefill, but for few rows
    int32_t group, dim, dim_v;  // dim: rope_dim channels included
    int32_t rope_dim;
    int32_t query_parts;    // prefill of codes: bf16 numbers whose sum a query is, times the scales of its channels
    float scale;
    RowSink sink;
    const RowBlock* upcoming;  // of the same kind, which the thread will probably compute next; null: none
};

// Rows of partials, one set for each split, to be combined in split order.
struct MergeBlock {
    float* partial_out;               // [splits][kv_heads][rows][dim_v]; destroyed
    const RowState* partial_state;    // [splits][kv_heads][rows]
    int32_t splits;
    int64_t row_begin, row_end;
    int32_t kv_heads, group, dim_v;
    RowSink sink;
};

// Pairs of a row's probabilities in a tile whose rounding is made up for (residuals-inl.h).
struct ResidualList {
    static constexpr int kRoom = kTileKeys / 2 + 16;  // whole vectors are written
    int32_t pairs[kRoom];    // what rounding left, two bf16 each
    int32_t offsets[kRoom];  // of their steps in a value panel, in bytes
    int32_t count;
    int32_t padding[15];     // to an odd number of cache lines: rows would fall into the same sets
};

// Memory of one thread. Every pointer is 64-byte aligned; prefill and decode use the same bytes, never at once.
// "padded" means rounded up to kLanes of the kernels.
struct Scratch {
    float* out;                        // [rows][padded dim_v] accumulators
    float* row_max;                    // [rows]
    float* row_sum;                    // [rows]
    float* row_rescale;                // [rows]
    float* row_headroom;               // [rows]
    float* scores;                     // prefill [score rows][kScoreStride], decode [rows][kStreamScoreStride]
    float* query;                      // [rows][padded dim] fp32, or [part][rows] of bf16
    const void** key_rows;             // [kStreamSplit + kStreamKeys]
    const void** value_rows;           // [kStreamSplit + kStreamKeys]
    const void** value_heads;          // [kStreamKeys]
    const void** value_originals;      // [kTileKeys]
    uint8_t* value_classes;            // [kTileKeys]
    float* zeros;                      // [kMaxDim] zeros
    void* key_staging;                 // [kTileKeys][padded dim] of what the products take, for staged rows; else null
    void* value_staging;               // [kTileKeys][padded dim_v], likewise
    float* key_scales;                 // [2][padded dim] scales and offsets of one token, for dequantised rows, or
                                       // [kTileKeys] scales of a tile's tokens, or group_scale_bytes() for each
                                       // head; else null
    float* value_scales;               // [2][padded dim_v], likewise
    // decode in tiles only, see amx_stream-inl.h; query_tiles also in digits, see digit_stream-inl.h
    void* query_tiles;                 // [block of rows][step], each followed by its rows' weights
    void* key_tiles;                   // [kStreamKeys] keys
    void* value_tiles;                 // [2][kStreamKeys] values
    void* weight_tiles;                // [2][block of one head's rows][kStreamKeys] probabilities
    void* sum_tiles;                   // [2][4] tiles of scores, or [block][tile of columns]
    // prefill only
    float* key_panels;                 // [part][panel][steps of dim][columns], or [kTileKeys] rows, kRowGap apart
    float* value_panels;               // [part][panel][steps of kTileKeys][columns]
    // prefill in forms of bf16 only
    uint16_t* probabilities;           // [kStripRows][kScoreStride] bf16, or null
    ResidualList* residuals;           // [kStripRows], likewise
    float* aside;                      // [rows][padded dim_v]: sums of the values set aside
};

struct FullQuantKernels;  // full_quant_kernels.h

using RowKernel = void(const RowBlock&, const Scratch&);
// sparse_block.h
struct SparseBlock;
struct SparseScratch;
struct SparseMerge;

// How prefill's products take rows and panels.
struct OperandForm {
    int depth;        // numbers in a 32-bit element: 1 fp32, or 2 bf16
    int parts;        // bf16 numbers whose sum stands for one
    int query_parts;  // of a query's
    int columns;      // of a panel
    int steps;        // panels have a multiple of so many elements in a column
    int group;        // rows that are computed together
    int block_rows;   // most rows that packed keys and values serve
    int score_rows;   // rows whose scores are held at a time, if there are so many; a smaller block's in whole groups
    bool in_place;    // probabilities replace their scores
};

struct Kernels {
    const char* name;
    int lanes;              // fp32 numbers a vector holds
    int nr;                 // columns of the register block
    OperandForm form[3];    // by the Dtype of the products
    // By the Dtype that keys and values have when they reach the products: f16, bf16 or (dequantised) f32.
    RowKernel* prefill[3];
    RowKernel* prefill_few[3];  // likewise, of up to kFewRows rows of each KV head; null: there is none
    RowKernel* decode[3];
    // Prefill of stored codes as rows of bf16 (prefills_codes()), by the Dtype of the query; null: there is none.
    RowKernel* prefill_codes[2];
    OperandForm code_form[2];
    // By the Dtype of stored codes that decode's products take as they are, see takes_codes(); null: none do.
    RowKernel* decode_codes[kStoredDtypes];
    int code_channels;      // decode pads rows of codes to a multiple of so many
    bool has_code_tiles;    // and needs Scratch's tiles for them
    void (*merge)(const MergeBlock&);
    const FullQuantKernels* full_quant;
    void (*sparse[2])(const SparseBlock&, const SparseScratch&);  // by the Dtype of the query
    void (*merge_sparse)(const SparseMerge&);
    // The building blocks, for tests.
    void (*exp)(const float* x, float* y, size_t n);
    void (*widen[2])(const uint16_t* x, float* y, size_t n);
    void (*narrow[2])(const float* x, uint16_t* y, size_t n);
};

extern const Kernels kKernelsPortable;
#ifdef ACL_ATTN_X86
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
extern const Kernels kKernelsAvx512Vnni;
extern const Kernels kKernelsAvx512Bf16;
#endif
#ifdef ACL_ATTN_AMX
extern const Kernels kKernelsAmx;
#endif

}  // namespace acl_attn::engine
