// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/sparse_attention.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv_metadata.h"
#include "meta/executor.h"
#include "ops/kv_quant_sparse_attn_sharedkv/rules.h"
#include "ops/sparse_attention/entry.h"
#include "runtime/last_error.h"

using namespace acl_attn;
using namespace acl_attn::ops::sparse;

namespace {

constexpr Operator kOperator = Operator::kv_quant_sparse_attn_sharedkv;

// Both entries: that with block strides, of which the vendor's leaves them 0.
aclnnStatus plan(const char* api, const aclTensor* q, const aclTensor* ori_kv, const aclTensor* cmp_kv,
                 const aclTensor* ori_sparse_indices, const aclTensor* cmp_sparse_indices,
                 const aclTensor* ori_block_table, const aclTensor* cmp_block_table, const aclTensor* cu_seqlens_q,
                 const aclTensor* cu_seqlens_ori_kv, const aclTensor* cu_seqlens_cmp_kv, const aclTensor* seqused_q,
                 const aclTensor* seqused_kv, const aclTensor* sinks, const aclTensor* metadata, int64_t kv_quant_mode,
                 int64_t tile_size, int64_t rope_head_dim, double softmax_scale, int64_t cmp_ratio,
                 int64_t ori_mask_mode, int64_t cmp_mask_mode, int64_t ori_win_left, int64_t ori_win_right,
                 const char* layout_q, const char* layout_kv, int64_t ori_block_stride, int64_t cmp_block_stride,
                 bool return_softmax_lse, const aclTensor* attn_out, const aclTensor* softmax_lse,
                 uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
    return guarded(api, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
        Call call;
        call.op = kOperator;
        call.tensors[kQ].handle = q;
        call.tensors[kOriKv].handle = ori_kv;
        call.tensors[kCmpKv].handle = cmp_kv;
        call.tensors[kOriSparseIndices].handle = ori_sparse_indices;
        call.tensors[kCmpSparseIndices].handle = cmp_sparse_indices;
        call.tensors[kOriBlockTable].handle = ori_block_table;
        call.tensors[kCmpBlockTable].handle = cmp_block_table;
        call.tensors[kCuSeqlensQ].handle = cu_seqlens_q;
        call.tensors[kCuSeqlensOriKv].handle = cu_seqlens_ori_kv;
        call.tensors[kCuSeqlensCmpKv].handle = cu_seqlens_cmp_kv;
        call.tensors[kSequsedQ].handle = seqused_q;
        call.tensors[kSequsedOriKv].handle = seqused_kv;
        call.tensors[kSinks].handle = sinks;
        call.tensors[kMetadata].handle = metadata;
        call.outputs[kAttnOut].handle = attn_out;
        call.outputs[kSoftmaxLse].handle = softmax_lse;
        call.has_workspace_size = workspace_size != nullptr;
        call.has_executor = executor != nullptr;
        call.kv_quant_mode = kv_quant_mode;
        call.tile_size = tile_size;
        call.rope_head_dim = rope_head_dim;
        call.softmax_scale = softmax_scale;
        call.cmp_ratio = cmp_ratio;
        call.ori_mask_mode = ori_mask_mode;
        call.cmp_mask_mode = cmp_mask_mode;
        call.ori_win_left = ori_win_left;
        call.ori_win_right = ori_win_right;
        call.layout_q = layout_q;
        call.layout_kv = layout_kv;
        call.ori_block_stride = ori_block_stride;
        call.cmp_block_stride = cmp_block_stride;
        call.return_softmax_lse = return_softmax_lse;
        return phase_one(kvq::kCatalogue, call, workspace_size, executor);
    });
}

}  // namespace

extern "C" {

aclnnStatus aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize(
    const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedKvOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char* layoutQOptional,
    char* layoutKvOptional, bool returnSoftmaxLse, const aclTensor* attnOut, const aclTensor* softmaxLseOut,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
    return plan("aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize", q, oriKvOptional, cmpKvOptional,
                oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize, ropeHeadDim, softmaxScale,
                cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional, layoutKvOptional, 0, 0,
                returnSoftmaxLse, attnOut, softmaxLseOut, workspaceSize, executor);
}

aclnnStatus aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize(
    const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedKvOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char* layoutQOptional,
    char* layoutKvOptional, int64_t oriKvStride0, int64_t cmpKvStride0, bool returnSoftmaxLse, const aclTensor* attnOut,
    const aclTensor* softmaxLseOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
    return plan("aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize", q, oriKvOptional, cmpKvOptional,
                oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize, ropeHeadDim, softmaxScale,
                cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional, layoutKvOptional,
                oriKvStride0, cmpKvStride0, returnSoftmaxLse, attnOut, softmaxLseOut, workspaceSize, executor);
}

aclnnStatus aclnnKvQuantSparseAttnSharedkv(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                           aclrtStream stream) {
    return meta::launch(api_name(kOperator), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize(
    const aclTensor* cuSeqLensQOptional, const aclTensor* cuSeqLensOriKvOptional,
    const aclTensor* cuSeqLensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char* layoutQOptional,
    char* layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor* metaData,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
    // What has no influence on the list.
    static_cast<void>(headDim);
    static_cast<void>(maxSeqlenKvOptional);
    static_cast<void>(oriTopKOptional);
    static_cast<void>(kvQuantMode);
    static_cast<void>(tileSizeOptional);
    static_cast<void>(ropeHeadDimOptional);
    static_cast<void>(cmpMaskModeOptional);
    static_cast<void>(oriWinRightOptional);
    return guarded("aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize", ACLNN_ERR_INNER_CREATE_EXECUTOR,
                   ACLNN_ERR_INNER, [&] {
        MetadataCall call;
        call.op = kOperator;
        call.tensors[kCuSeqlensQ].handle = cuSeqLensQOptional;
        call.tensors[kCuSeqlensOriKv].handle = cuSeqLensOriKvOptional;
        call.tensors[kCuSeqlensCmpKv].handle = cuSeqLensCmpKvOptional;
        call.tensors[kSequsedQ].handle = sequsedQOptional;
        call.tensors[kSequsedOriKv].handle = sequsedKvOptional;
        call.metadata.handle = metaData;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        call.num_heads_q = numHeadsQ;
        call.num_heads_kv = numHeadsKv;
        call.batch_size = batchSizeOptional;
        call.max_seqlen_q = maxSeqlenQOptional;
        call.cmp_topk = hasCmpKvOptional ? cmpTopKOptional : 0;
        call.cmp_ratio = cmpRatioOptional;
        call.ori_mask_mode = oriMaskModeOptional;
        call.cmp_mask_mode = 3;
        call.ori_win_left = oriWinLeftOptional;
        call.ori_win_right = 0;
        call.layout_q = layoutQOptional;
        call.layout_kv = layoutKvOptional;
        call.has_ori_kv = hasOriKvOptional;
        call.has_cmp_kv = hasCmpKvOptional;
        return phase_one(kvq::kMetadataCatalogue, call, workspaceSize, executor);
    });
}

aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadata(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                   aclrtStream stream) {
    return meta::launch(metadata_api_name(kOperator), workspace, workspaceSize, executor, stream);
}

}  // extern "C"
