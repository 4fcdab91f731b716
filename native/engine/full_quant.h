// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention with a quantised query: both products take quantised operands, and the softmax's weights are rounded before
// the second one. A part of engine::Problem. Query, keys and values then have the same type, Problem::dtype ==
// Problem::kv_dtype; the output is f16 or bf16; rope channels are bf16 whatever the type, a bias tensor is f16.
//
//   per_tensor_i8  i8. Scores in fp16: q . k * deq_scale1 (its upper 19 bits), then * scale; weights are exp *
//                  quant_scale1, as i8; a tile's sum * deq_scale2. May have a bias tensor.
//   mla            i8, f8_e4m3 or hif8. value_is_key, kv_heads = 1, rope_dim > 0. (q . k + query_rope . key_rope) *
//                  query_scale[token, head] * key_scale[0] * scale; values are stored * value_scale[0].
//   gqa_f8         f8_e4m3. q . k * query_scale[token, head] * key_scale[KV head, token] * scale; values are stored *
//                  value_scale[KV head]. quant_scale1: the largest weight.
//   mx_f8          f8_e4m3, an E8M0 scale for each 32 channels of query and key and for each 32 tokens of a value's
//                  channel; rope unscaled. quant_scale1: the largest weight; the LSE contains its logarithm.
//
// None has a sink, a prefix or post-quantisation. Scales and offsets count elements: fp32 for mla and gqa_f8, E8M0 for
// mx_f8, where a number times its scale must fit fp32.
#pragma once

#include <cstdint>

#include "engine/kinds.h"

namespace acl_attn::engine {

constexpr int kScaledGroup = 32;  // channels, or tokens of a value, that share an E8M0 scale

// The scale of a query row: Sequence::query_scale_offset + token * token_stride + (h / group) * kv_head_stride +
// (h % group) * head_stride, group = heads / kv_heads. mx_f8: that of channel d is d / 32 further on.
struct QueryScaleLayout {
    int64_t token_stride = 0;
    int64_t kv_head_stride = 0;
    int64_t head_stride = 0;
};

// Scales that stand in lines: a key's line is its token and its groups are of channels; a value's line is its channel
// and its groups are of tokens. The scale of `line`, group g, KV head h is at
//   origin + h * head_stride + (line / run) * run_stride + (line % run) * line_stride + (g / 2) * pair_stride + g % 2
// where the tokens count from the sequence's first, and origin is Sequence::key_scale_offset or value_scale_offset;
// paged they count from the block's first, and origin is block_table[t / block_size] * block_stride.
// gqa_f8's keys have one group. With run == 1 a line is run_stride after the one before.
struct LineScaleLayout {
    int64_t head_stride = 0;
    int64_t block_stride = 0;
    int64_t run_stride = 0;
    int64_t line_stride = 0;
    int64_t pair_stride = 0;
    int32_t run = 1;
};

struct FullQuant {
    enum class Kind : uint8_t { none, per_tensor_i8, mla, gqa_f8, mx_f8 };
    Kind kind = Kind::none;

    QueryScaleLayout query_scale;    // mla, gqa_f8, mx_f8: Operands::query_scale
    LineScaleLayout key_scale;       // gqa_f8, mx_f8: Operands::key_scale
    LineScaleLayout value_scale;     // mx_f8: Operands::value_scale. gqa_f8: fp32 [kv_heads], mla: both fp32 [1]
    bool deq_scale1_is_word = false; // per_tensor_i8: a UINT64 word instead of fp32 (formats/scale_word.h)
    bool deq_scale2_is_word = false;
};

}  // namespace acl_attn::engine
