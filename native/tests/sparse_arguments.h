// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// For the C++ tests of the sparse operators: the arguments of all functions by name.
#pragma once

#include <string>
#include <vector>

#include "acl_attn/sparse_attention.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv_metadata.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"
#include "two_phase_call.h"

namespace sparse_call {

using two_phase::Dims;
using two_phase::expect;
using two_phase::live_objects;
using two_phase::Objects;
using two_phase::recent_message;
using T = const aclTensor*;

// Arguments of either main operator; its metadata operator is called with what they have in common.
struct Arguments {
    bool is_quantised = false;
    bool is_strided_entry = false;  // the one with block strides
    T q = nullptr, ori_kv = nullptr, cmp_kv = nullptr;
    T ori_sparse_indices = nullptr, cmp_sparse_indices = nullptr;
    T ori_block_table = nullptr, cmp_block_table = nullptr;
    T cu_seqlens_q = nullptr, cu_seqlens_ori_kv = nullptr, cu_seqlens_cmp_kv = nullptr;
    T seqused_q = nullptr, seqused_ori_kv = nullptr, seqused_cmp_kv = nullptr, cmp_residual_kv = nullptr;
    T ori_topk_length = nullptr, cmp_topk_length = nullptr, sinks = nullptr, metadata = nullptr;
    double softmax_scale = 0.04419417382415922;
    int64_t cmp_ratio = 1, ori_mask_mode = 4, cmp_mask_mode = 0, ori_win_left = 127, ori_win_right = 0;
    std::string layout_q = "BSND", layout_kv = "BSND";
    bool has_layout_q = true;  // false: null
    int64_t topk_value_mode = 1;
    int64_t kv_quant_mode = 1, tile_size = 64, rope_head_dim = 64, ori_stride = 0, cmp_stride = 0;
    bool return_softmax_lse = false;
    T attn_out = nullptr, softmax_lse = nullptr;

    // What only the metadata operators are told.
    int64_t heads = 64, kv_heads = 1, head_dim = 512, batch = 0, max_q = 0, max_ori = 0, max_cmp = 0;
    int64_t ori_topk = 0, cmp_topk = 0;
    bool has_ori = true, has_cmp = false;

    aclnnStatus phase_one(uint64_t* size, aclOpExecutor** executor) const {
        std::string lq = layout_q, lkv = layout_kv;
        char* const layout = has_layout_q ? lq.data() : nullptr;
        if (!is_quantised) {
            return aclnnSparseFlashMlaGetWorkspaceSize(
                q, ori_kv, cmp_kv, ori_sparse_indices, cmp_sparse_indices, ori_block_table, cmp_block_table,
                cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, seqused_cmp_kv,
                cmp_residual_kv, ori_topk_length, cmp_topk_length, sinks, metadata, softmax_scale, cmp_ratio,
                ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout, lkv.data(), topk_value_mode,
                return_softmax_lse, attn_out, softmax_lse, size, executor);
        }
        if (is_strided_entry) {
            return aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize(
                q, ori_kv, cmp_kv, ori_sparse_indices, cmp_sparse_indices, ori_block_table, cmp_block_table,
                cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, sinks, metadata,
                kv_quant_mode, tile_size, rope_head_dim, softmax_scale, cmp_ratio, ori_mask_mode, cmp_mask_mode,
                ori_win_left, ori_win_right, layout, lkv.data(), ori_stride, cmp_stride, return_softmax_lse, attn_out,
                softmax_lse, size, executor);
        }
        return aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize(
            q, ori_kv, cmp_kv, ori_sparse_indices, cmp_sparse_indices, ori_block_table, cmp_block_table, cu_seqlens_q,
            cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, sinks, metadata, kv_quant_mode, tile_size,
            rope_head_dim, softmax_scale, cmp_ratio, ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout,
            lkv.data(), return_softmax_lse, attn_out, softmax_lse, size, executor);
    }

    aclnnStatus phase_two(void* workspace, uint64_t size, aclOpExecutor* executor) const {
        return is_quantised ? aclnnKvQuantSparseAttnSharedkv(workspace, size, executor, nullptr)
                            : aclnnSparseFlashMla(workspace, size, executor, nullptr);
    }

    // `metadata` is the output here.
    aclnnStatus metadata_phase_one(uint64_t* size, aclOpExecutor** executor) const {
        std::string lq = layout_q, lkv = layout_kv;
        char* const layout = has_layout_q ? lq.data() : nullptr;
        if (is_quantised) {
            return aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize(
                cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, heads, kv_heads,
                head_dim, batch, max_q, max_ori, ori_topk, cmp_topk, kv_quant_mode, tile_size, rope_head_dim, cmp_ratio,
                ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout, lkv.data(), has_ori, has_cmp,
                metadata, size, executor);
        }
        return aclnnSparseFlashMlaMetadataGetWorkspaceSize(
            cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, seqused_cmp_kv,
            cmp_residual_kv, ori_topk_length, cmp_topk_length, heads, kv_heads, head_dim, batch, max_q, max_ori,
            max_cmp, ori_topk, cmp_topk, cmp_ratio, ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout,
            lkv.data(), has_ori, has_cmp, metadata, size, executor);
    }

    // What is wrong with phase one's call.
    aclnnStatus check(const aclAttnCheckOptions* options, aclAttnReport** report) const {
        std::string lq = layout_q, lkv = layout_kv;
        char* const layout = has_layout_q ? lq.data() : nullptr;
        if (is_quantised) {
            return aclAttnCheckKvQuantSparseAttnSharedkv(
                q, ori_kv, cmp_kv, ori_sparse_indices, cmp_sparse_indices, ori_block_table, cmp_block_table,
                cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, sinks, metadata,
                kv_quant_mode, tile_size, rope_head_dim, softmax_scale, cmp_ratio, ori_mask_mode, cmp_mask_mode,
                ori_win_left, ori_win_right, layout, lkv.data(), return_softmax_lse, attn_out, softmax_lse, options,
                report);
        }
        return aclAttnCheckSparseFlashMla(
            q, ori_kv, cmp_kv, ori_sparse_indices, cmp_sparse_indices, ori_block_table, cmp_block_table, cu_seqlens_q,
            cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, seqused_cmp_kv, cmp_residual_kv,
            ori_topk_length, cmp_topk_length, sinks, metadata, softmax_scale, cmp_ratio, ori_mask_mode, cmp_mask_mode,
            ori_win_left, ori_win_right, layout, lkv.data(), topk_value_mode, return_softmax_lse, attn_out, softmax_lse,
            options, report);
    }

    aclnnStatus metadata_check(const aclAttnCheckOptions* options, aclAttnReport** report) const {
        std::string lq = layout_q, lkv = layout_kv;
        char* const layout = has_layout_q ? lq.data() : nullptr;
        if (is_quantised) {
            return aclAttnCheckKvQuantSparseAttnSharedkvMetadata(
                cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, heads, kv_heads,
                head_dim, batch, max_q, max_ori, ori_topk, cmp_topk, kv_quant_mode, tile_size, rope_head_dim, cmp_ratio,
                ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout, lkv.data(), has_ori, has_cmp,
                metadata, options, report);
        }
        return aclAttnCheckSparseFlashMlaMetadata(
            cu_seqlens_q, cu_seqlens_ori_kv, cu_seqlens_cmp_kv, seqused_q, seqused_ori_kv, seqused_cmp_kv,
            cmp_residual_kv, ori_topk_length, cmp_topk_length, heads, kv_heads, head_dim, batch, max_q, max_ori,
            max_cmp, ori_topk, cmp_topk, cmp_ratio, ori_mask_mode, cmp_mask_mode, ori_win_left, ori_win_right, layout,
            lkv.data(), has_ori, has_cmp, metadata, options, report);
    }

    aclnnStatus metadata_phase_two(aclOpExecutor* executor) const {
        return is_quantised ? aclnnKvQuantSparseAttnSharedkvMetadata(nullptr, 0, executor, nullptr)
                            : aclnnSparseFlashMlaMetadata(nullptr, 0, executor, nullptr);
    }
};

// Both phases on the default stream, and waiting for it.
inline aclnnStatus call(const Arguments& a) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = a.phase_one(&size, &executor)) return status;
    std::vector<uint64_t> workspace(size / sizeof(uint64_t) + 8);
    if (const aclnnStatus status = a.phase_two(workspace.data(), size, executor)) return status;
    return aclrtSynchronizeStream(nullptr);
}

inline aclnnStatus call_metadata(const Arguments& a) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = a.metadata_phase_one(&size, &executor)) return status;
    if (const aclnnStatus status = a.metadata_phase_two(executor)) return status;
    return aclrtSynchronizeStream(nullptr);
}

}  // namespace sparse_call
