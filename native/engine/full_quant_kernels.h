// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What one instruction set offers for quantised queries (full_quant.h). As in kernels.h, plain data only.
#pragma once

#include "engine/full_quant.h"
#include "engine/kernels.h"

namespace acl_attn::engine {

// Weights are rounded relative to a tile's largest score, and a later tile's relative to what came before: tiles and
// their order are part of the result, and so there are no splits of keys that could be merged.
constexpr int kPerTensorTile = 1024;
constexpr int kMlaTile = 128;
constexpr int kScaledTile = 256;  // gqa_f8 and mx_f8

static constexpr int tile_keys(FullQuant::Kind kind) {
    return kind == FullQuant::Kind::per_tensor_i8 ? kPerTensorTile : kind == FullQuant::Kind::mla ? kMlaTile
                                                                                                : kScaledTile;
}
static constexpr int score_stride(int tile) { return tile + 64; }  // kScoreStride's reason; bytes fill whole lines, too
constexpr int kStagingAlignment = 16;  // elements to which dims are rounded up in staging areas and query rows

// LineScaleLayout of one KV head, in bytes.
struct LineScaleView {
    const char* base;      // null: there are none
    const int32_t* table;  // null: contiguous
    int64_t block_stride, run_stride, line_stride, pair_stride;
    int32_t block_size, run;
};

struct FullQuantBlock {
    RowBlock rows;  // its query is null, its kv_heads 1
    const uint8_t* query;  // of token 0, head 0 of the group; strides as in `rows`
    const char* query_scale;  // likewise; null: there are none
    int64_t query_scale_token_stride, query_scale_head_stride;  // bytes
    LineScaleView key_scale, value_scale;
    bool has_few_rows;   // the sequence, not only the block: at most kStreamRows
    float score_scale;   // of all products of query and key, the problem's scale included except for per_tensor_i8
    float weight_scale;  // quant_scale1
    float value_scale_all;  // of all values, or of a tile's sums
};

// Memory of one thread, as Scratch. [rows] are rounded up to the kernel's group.
struct FullQuantScratch {
    float* out;            // [rows][padded dim_v]
    float* row_max;        // [rows]
    float* row_sum;        // [rows]
    float* row_scale;      // [rows] of the query row
    int32_t* row_start;    // [rows] what a row's integer sums begin with
    float* kept;           // [rows] what accumulators are multiplied by before a tile's sums join them
    float* joining;        // [rows] what these are multiplied by
    float* scores;         // [strip rows][score stride]
    void* weights;         // [strip rows][score stride] elements; null: they stand in `scores`
    float* query;          // [rows][units]
    float* query_rope;     // [rows][units]
    void* key_staging;     // [tile][padded dim] elements
    void* value_staging;   // [tile][padded dim_v]
    void* rope_staging;    // [tile][padded rope_dim]
    float* key_panels;
    float* value_panels;
    float* rope_panels;
    const void** key_rows;    // [tile]
    const void** value_rows;  // [tile]
    const void** rope_rows;   // [tile]
    const void** value_originals;  // [tile]
    uint8_t* value_classes;        // [tile]
    float* key_scales;     // [tile] of tokens
    uint8_t* line_scales;  // [padded dim or dim_v] E8M0 codes
    float* zeros;          // [kMaxDim]
};

struct FullQuantKernel {
    int element_bytes;       // of an operand of the products
    int rope_element_bytes;
    int channels;       // operands have multiples of so many, of 16 at least
    int rope_channels;
    int group;          // rows that are computed together
    int block_rows;     // most rows that packed keys and values serve
    int strip_rows;     // rows whose scores are held at a time
    void (*run)(const FullQuantBlock&, const FullQuantScratch&);
};

struct FullQuantKernels {
    FullQuantKernel per_tensor, mla_i8, mla_f8, mla_hif8, gqa_f8, mx_f8;
};

extern const FullQuantKernels kFullQuantPortable;
#ifdef ACL_ATTN_X86
extern const FullQuantKernels kFullQuantAvx2;
extern const FullQuantKernels kFullQuantAvx512;
extern const FullQuantKernels kFullQuantAvx512Vnni;
extern const FullQuantKernels kFullQuantAvx512Bf16;
#endif
#ifdef ACL_ATTN_AMX
extern const FullQuantKernels kFullQuantAmx;
#endif

}  // namespace acl_attn::engine
