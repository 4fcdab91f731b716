// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/sparse_attention.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv.h"
#include "aclnnop/aclnn_kv_quant_sparse_attn_sharedkv_metadata.h"
#include "meta/executor.h"
#include "ops/kv_quant_sparse_attn_sharedkv/entry.h"

using namespace acl_attn;
using namespace acl_attn::ops::sparse;

namespace {

constexpr Operator kOperator = Operator::kv_quant_sparse_attn_sharedkv;

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
    return kvq::main_entry({"aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize"}, q, oriKvOptional, cmpKvOptional,
                           oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional,
                           cmpBlockTableOptional, cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional,
                           sequsedQOptional, sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize,
                           ropeHeadDim, softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight,
                           layoutQOptional, layoutKvOptional, 0, 0, returnSoftmaxLse, attnOut, softmaxLseOut,
                           workspaceSize, executor);
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
    return kvq::main_entry({"aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize"}, q, oriKvOptional, cmpKvOptional,
                           oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional,
                           cmpBlockTableOptional, cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional,
                           sequsedQOptional, sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize,
                           ropeHeadDim, softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight,
                           layoutQOptional, layoutKvOptional, oriKvStride0, cmpKvStride0, returnSoftmaxLse, attnOut,
                           softmaxLseOut, workspaceSize, executor);
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
    return kvq::metadata_entry({"aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize"}, cuSeqLensQOptional,
                               cuSeqLensOriKvOptional, cuSeqLensCmpKvOptional, sequsedQOptional, sequsedKvOptional,
                               numHeadsQ, numHeadsKv, headDim, batchSizeOptional, maxSeqlenQOptional,
                               maxSeqlenKvOptional, oriTopKOptional, cmpTopKOptional, kvQuantMode, tileSizeOptional,
                               ropeHeadDimOptional, cmpRatioOptional, oriMaskModeOptional, cmpMaskModeOptional,
                               oriWinLeftOptional, oriWinRightOptional, layoutQOptional, layoutKvOptional,
                               hasOriKvOptional, hasCmpKvOptional, metaData, workspaceSize, executor);
}

aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadata(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                   aclrtStream stream) {
    return meta::launch(metadata_api_name(kOperator), workspace, workspaceSize, executor, stream);
}

}  // extern "C"
