// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the launch hands to the flash-attention kernels: one plain struct by value, and in GM a plan, an array of 64-bit
// words. Included by host code and by kernels. Strides and offsets count elements, addresses are bytes.
#pragma once

#include <cstdint>

namespace acl_attn::ascendc {

// Words of a sequence. Meanings as in engine::Sequence.
enum SequenceWord : int32_t {
    kSeqQueryOffset,
    kSeqQueryRopeOffset,
    kSeqOutOffset,
    kSeqLseOffset,
    kSeqKeyAddress,  // of token 0, head 0; paged: of block 0
    kSeqValueAddress,
    kSeqKeyRopeAddress,
    kSeqKeyHeadStride,
    kSeqValueHeadStride,
    kSeqKeyRopeHeadStride,
    kSeqTableOffset,
    kSeqQueryLen,
    kSeqKvLen,
    kSeqBandFirst,
    kSeqBandLast,
    kSeqMaskOffset,
    kSeqBiasOffset,
    kSeqPadBefore,
    kSeqPadAfter,
    kSeqKeyScaleOffset,
    kSeqValueScaleOffset,
    kSeqPrefixKeyScaleOffset,
    kSeqPrefixValueScaleOffset,
    kSeqQueryScaleOffset,
    kSequenceWords
};

// Words of an item: a block of merged rows (geometry/merged_rows.h) and the keys that it looks at.
enum ItemWord : int32_t {
    kItemSequence,
    kItemKvHead,
    kItemRowBegin,
    kItemRowEnd,
    kItemKeyBegin,    // key_begin == key_end: the rows see none
    kItemKeyEnd,
    kItemPartialRow,  // where its unfinished rows go; -1: it finishes them
    kItemWords
};

// Words of a merge: rows whose keys were split among items. Split s begins at partial row kMergePartialRow + s * rows.
enum MergeWord : int32_t {
    kMergeSequence,
    kMergeKvHead,
    kMergeRowBegin,
    kMergeRowEnd,
    kMergeSplits,
    kMergePartialRow,
    kMergeWords
};

enum class Bias : int32_t { none, tensor, slope, slope_sqrt };  // as engine::BiasKind

// The kinds of a stored scale, and of an output.
enum class ScaleType : int32_t { f32, f16, bf16, e8m0 };
enum class OutType : int32_t { element, i8, f8_e4m3, hif8, f16 };  // element: Traits::Out

// As engine::ScaleLayout and engine::Dequant; addresses of 0: absent.
struct ScaleParams {
    uint64_t scale;
    uint64_t offset;
    int64_t head_stride;
    int64_t token_stride;
    int64_t block_stride;
    int64_t group_stride;
    int32_t group;
    int32_t paged;
    ScaleType type;
    int32_t unused;
};

// As engine::KvLayout, and a prefix's head stride.
struct KvParams {
    int64_t token_stride;
    int64_t block_stride;
    int64_t chunk_stride;
    int32_t chunk;
    int32_t columns;
    uint64_t prefix;  // address
    int64_t prefix_token_stride;
    int64_t prefix_head_stride;
};

// Of quantised queries (engine/full_quant.h): addresses of fp32 numbers and, in elements, how far apart they are.
struct FullQuantParams {
    uint64_t query_scale;   // of a row: mla, gqa
    uint64_t key_scale;     // per_tensor: deq_scale1; mla: one number; gqa: one a key
    uint64_t value_scale;   // per_tensor: deq_scale2; mla: one number; gqa: one a KV head
    uint64_t weight_scale;  // quant_scale1; 0: it is 1
    int64_t query_token_stride;
    int64_t query_kv_head_stride;
    int64_t query_head_stride;
    int64_t key_head_stride;
    int64_t key_block_stride;
};

struct FlashAttentionParams {
    uint64_t query;
    uint64_t query_rope;
    uint64_t block_table;
    uint64_t mask;
    uint64_t bias;  // a tensor's, or the slopes'
    uint64_t sink;
    uint64_t out;
    uint64_t lse;  // 0: not wanted
    uint64_t out_scale;   // where out_type is not element
    uint64_t out_offset;  // 0: none

    uint64_t sequences;     // [][kSequenceWords]
    uint64_t items;         // [][kItemWords]
    uint64_t core_items;    // [cores + 1]: core c does items core_items[c] .. core_items[c + 1] - 1
    uint64_t merges;        // [merge_count][kMergeWords]
    uint64_t clears;        // [clear_count]: sequences with rows before or behind their own, which become 0
    uint64_t core_memory;   // core_stride bytes a core, 512-byte aligned
    uint64_t partial_out;   // [partial rows][kDimV] fp32
    uint64_t partial_max;   // [partial rows] fp32
    uint64_t partial_sum;

    int64_t query_token_stride;
    int64_t query_head_stride;
    int64_t query_rope_token_stride;
    int64_t query_rope_head_stride;
    int64_t out_token_stride;
    int64_t out_head_stride;
    int64_t lse_token_stride;
    int64_t lse_head_stride;
    int64_t mask_row_stride;
    int64_t bias_head_stride;
    int64_t bias_row_stride;
    int64_t bias_distance;
    int64_t prefix_len;
    int64_t core_stride;
    KvParams key;
    KvParams value;
    KvParams key_rope;
    ScaleParams key_scale;
    ScaleParams value_scale;
    FullQuantParams full_quant;

    int32_t heads;
    int32_t group;      // query heads of a KV head
    int32_t dim;        // without rope
    int32_t rope_dim;
    int32_t dim_v;
    int32_t block_size; // 0: not paged
    int32_t merge_count;
    int32_t clear_count;
    OutType out_type;
    ScaleType out_scale_type;    // f32 or bf16, of the offset too
    int32_t out_channel_stride;  // 0: one scale; 1: that of head h, channel d is number h * dim_v + d
    Bias bias_kind;
    float scale;
    int32_t unused;
};

// What follows must agree byte for byte between the host's compiler and CANN's.
static_assert(sizeof(ScaleParams) == 64 && sizeof(KvParams) == 56, "no padding inside");
static_assert(sizeof(FlashAttentionParams) % 8 == 0, "no padding at the end");

}  // namespace acl_attn::ascendc
