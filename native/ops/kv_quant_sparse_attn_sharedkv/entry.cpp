// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/kv_quant_sparse_attn_sharedkv/entry.h"

#include "ops/kv_quant_sparse_attn_sharedkv/rules.h"
#include "runtime/last_error.h"

namespace acl_attn::ops::sparse::kvq {

constexpr Operator kOperator = Operator::kv_quant_sparse_attn_sharedkv;

aclnnStatus main_entry(
    const Entry& entry, const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedKvOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char* layoutQOptional,
    char* layoutKvOptional, int64_t oriKvStride0, int64_t cmpKvStride0, bool returnSoftmaxLse, const aclTensor* attnOut,
    const aclTensor* softmaxLseOut, uint64_t* workspaceSize, aclOpExecutor** executor) noexcept {
    return guarded(entry.api, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
        Call call;
        call.op = kOperator;
        call.tensors[kQ].handle = q;
        call.tensors[kOriKv].handle = oriKvOptional;
        call.tensors[kCmpKv].handle = cmpKvOptional;
        call.tensors[kOriSparseIndices].handle = oriSparseIndicesOptional;
        call.tensors[kCmpSparseIndices].handle = cmpSparseIndicesOptional;
        call.tensors[kOriBlockTable].handle = oriBlockTableOptional;
        call.tensors[kCmpBlockTable].handle = cmpBlockTableOptional;
        call.tensors[kCuSeqlensQ].handle = cuSeqlensQOptional;
        call.tensors[kCuSeqlensOriKv].handle = cuSeqlensOriKvOptional;
        call.tensors[kCuSeqlensCmpKv].handle = cuSeqlensCmpKvOptional;
        call.tensors[kSequsedQ].handle = sequsedQOptional;
        call.tensors[kSequsedOriKv].handle = sequsedKvOptional;
        call.tensors[kSinks].handle = sinksOptional;
        call.tensors[kMetadata].handle = metadataOptional;
        call.outputs[kAttnOut].handle = attnOut;
        call.outputs[kSoftmaxLse].handle = softmaxLseOut;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        call.kv_quant_mode = kvQuantMode;
        call.tile_size = tileSize;
        call.rope_head_dim = ropeHeadDim;
        call.softmax_scale = softmaxScale;
        call.cmp_ratio = cmpRatio;
        call.ori_mask_mode = oriMaskMode;
        call.cmp_mask_mode = cmpMaskMode;
        call.ori_win_left = oriWinLeft;
        call.ori_win_right = oriWinRight;
        call.layout_q = layoutQOptional;
        call.layout_kv = layoutKvOptional;
        call.ori_block_stride = oriKvStride0;
        call.cmp_block_stride = cmpKvStride0;
        call.return_softmax_lse = returnSoftmaxLse;
        return enter(entry, kCatalogue, call, workspaceSize, executor);
    });
}

aclnnStatus metadata_entry(
    const Entry& entry, const aclTensor* cuSeqLensQOptional, const aclTensor* cuSeqLensOriKvOptional,
    const aclTensor* cuSeqLensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char* layoutQOptional,
    char* layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor* metaData,
    uint64_t* workspaceSize, aclOpExecutor** executor) noexcept {
    // What has no influence on the list.
    static_cast<void>(headDim);
    static_cast<void>(maxSeqlenKvOptional);
    static_cast<void>(oriTopKOptional);
    static_cast<void>(kvQuantMode);
    static_cast<void>(tileSizeOptional);
    static_cast<void>(ropeHeadDimOptional);
    static_cast<void>(cmpMaskModeOptional);
    static_cast<void>(oriWinRightOptional);
    return guarded(entry.api, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
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
        return enter(entry, kMetadataCatalogue, call, workspaceSize, executor);
    });
}

}  // namespace acl_attn::ops::sparse::kvq
