// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// One call of either operator, out of the C interface's handles: what was given, not yet what it means.
#pragma once

#include <cstdint>
#include <memory>

#include "meta/objects.h"
#include "ops/sparse_attention/operator.h"

namespace acl_attn::ops::sparse {

// `handle` as the caller passed it, and what it stands for. Null: absent, or dead, which the front rules refuse.
struct TensorArg {
    const aclTensor* handle = nullptr;
    std::shared_ptr<const meta::Tensor> tensor;
};

struct Call {
    Operator op = Operator::sparse_flash_mla;
    TensorArg tensors[kInputCount];  // an operator leaves those null that it does not have
    TensorArg outputs[kOutputCount];
    bool has_workspace_size = false;  // the out-pointers
    bool has_executor = false;
    bool is_sketch = false;  // held against the rules only: null addresses are fine

    double softmax_scale = 1.0;
    int64_t cmp_ratio = 1;
    int64_t ori_mask_mode = 0;
    int64_t cmp_mask_mode = 0;
    int64_t ori_win_left = -1;
    int64_t ori_win_right = -1;
    const char* layout_q = nullptr;
    const char* layout_kv = nullptr;
    bool return_softmax_lse = false;

    int64_t topk_value_mode = 1;  // sparse_flash_mla

    int64_t kv_quant_mode = 1;    // kv_quant_sparse_attn_sharedkv
    int64_t tile_size = 64;
    int64_t rope_head_dim = 64;
    int64_t ori_block_stride = 0;  // 0: the tensor's own
    int64_t cmp_block_stride = 0;
};

// Looks up every handle, and gives the pools the block strides that stand beside them.
void resolve(Call& call);

// A call of a metadata operator.
struct MetadataCall {
    Operator op = Operator::sparse_flash_mla;
    TensorArg tensors[kInputCount];
    TensorArg metadata;
    bool has_workspace_size = false;
    bool has_executor = false;
    bool is_sketch = false;

    int64_t num_heads_q = 0;
    int64_t num_heads_kv = 1;
    int64_t head_dim = 512;
    int64_t batch_size = 0;
    int64_t max_seqlen_q = 0;
    int64_t max_seqlen_ori_kv = 0;
    int64_t max_seqlen_cmp_kv = 0;
    int64_t ori_topk = 0;
    int64_t cmp_topk = 0;
    int64_t cmp_ratio = 1;
    int64_t ori_mask_mode = 0;
    int64_t cmp_mask_mode = 0;
    int64_t ori_win_left = -1;
    int64_t ori_win_right = -1;
    const char* layout_q = nullptr;
    const char* layout_kv = nullptr;
    bool has_ori_kv = true;
    bool has_cmp_kv = true;

    // What kv_quant_sparse_attn_sharedkv is given, and what has no influence on the list.
    struct Idle {
        int64_t head_dim = 512;
        int64_t max_seqlen_kv = 0;
        int64_t ori_topk = 0;
        int64_t kv_quant_mode = 1;
        int64_t tile_size = 0;
        int64_t rope_head_dim = 0;
        int64_t cmp_mask_mode = 3;
        int64_t ori_win_right = 0;
    } idle;
};

void resolve(MetadataCall& call);

}  // namespace acl_attn::ops::sparse
