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

// Parameters stand here once; entry points that differ in what they are for pass theirs on. Block strides are 0 where
// an entry point has none.
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
        return enter(entry, kvq::kCatalogue, call, workspaceSize, executor);
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
        call.idle = {headDim,          maxSeqlenKvOptional, oriTopKOptional,     kvQuantMode,
                     tileSizeOptional, ropeHeadDimOptional, cmpMaskModeOptional, oriWinRightOptional};
        call.layout_q = layoutQOptional;
        call.layout_kv = layoutKvOptional;
        call.has_ori_kv = hasOriKvOptional;
        call.has_cmp_kv = hasCmpKvOptional;
        return enter(entry, kvq::kMetadataCatalogue, call, workspaceSize, executor);
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
    return main_entry({"aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize"}, q, oriKvOptional, cmpKvOptional,
                      oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                      cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                      sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize, ropeHeadDim,
                      softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional,
                      layoutKvOptional, 0, 0, returnSoftmaxLse, attnOut, softmaxLseOut, workspaceSize, executor);
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
    return main_entry({"aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize"}, q, oriKvOptional, cmpKvOptional,
                      oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                      cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                      sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize, ropeHeadDim,
                      softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional,
                      layoutKvOptional, oriKvStride0, cmpKvStride0, returnSoftmaxLse, attnOut, softmaxLseOut,
                      workspaceSize, executor);
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
    return metadata_entry({"aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize"}, cuSeqLensQOptional,
                          cuSeqLensOriKvOptional, cuSeqLensCmpKvOptional, sequsedQOptional, sequsedKvOptional,
                          numHeadsQ, numHeadsKv, headDim, batchSizeOptional, maxSeqlenQOptional, maxSeqlenKvOptional,
                          oriTopKOptional, cmpTopKOptional, kvQuantMode, tileSizeOptional, ropeHeadDimOptional,
                          cmpRatioOptional, oriMaskModeOptional, cmpMaskModeOptional, oriWinLeftOptional,
                          oriWinRightOptional, layoutQOptional, layoutKvOptional, hasOriKvOptional, hasCmpKvOptional,
                          metaData, workspaceSize, executor);
}

aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadata(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                   aclrtStream stream) {
    return meta::launch(metadata_api_name(kOperator), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclAttnCheckKvQuantSparseAttnSharedkv(
    const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedKvOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char* layoutQOptional,
    char* layoutKvOptional, bool returnSoftmaxLse, const aclTensor* attnOut,
    const aclTensor* softmaxLseOut, const aclAttnCheckOptions* options, aclAttnReport** report) {
    return main_entry(check_entry("aclAttnCheckKvQuantSparseAttnSharedkv", options, report), q, oriKvOptional,
                      cmpKvOptional, oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional,
                      cmpBlockTableOptional, cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional,
                      sequsedQOptional, sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize,
                      ropeHeadDim, softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight,
                      layoutQOptional, layoutKvOptional, 0, 0, returnSoftmaxLse, attnOut, softmaxLseOut, nullptr,
                      nullptr);
}

aclnnStatus aclAttnCheckKvQuantSparseAttnSharedkvMetadata(
    const aclTensor* cuSeqLensQOptional, const aclTensor* cuSeqLensOriKvOptional,
    const aclTensor* cuSeqLensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char* layoutQOptional,
    char* layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor* metaData,
    const aclAttnCheckOptions* options, aclAttnReport** report) {
    return metadata_entry(check_entry("aclAttnCheckKvQuantSparseAttnSharedkvMetadata", options, report),
                          cuSeqLensQOptional, cuSeqLensOriKvOptional, cuSeqLensCmpKvOptional, sequsedQOptional,
                          sequsedKvOptional, numHeadsQ, numHeadsKv, headDim, batchSizeOptional, maxSeqlenQOptional,
                          maxSeqlenKvOptional, oriTopKOptional, cmpTopKOptional, kvQuantMode, tileSizeOptional,
                          ropeHeadDimOptional, cmpRatioOptional, oriMaskModeOptional, cmpMaskModeOptional,
                          oriWinLeftOptional, oriWinRightOptional, layoutQOptional, layoutKvOptional, hasOriKvOptional,
                          hasCmpKvOptional, metaData, nullptr, nullptr);
}

}  // extern "C"
