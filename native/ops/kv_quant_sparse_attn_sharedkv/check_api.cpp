// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Reports: what is wrong with a call, without preparing it.
#include "acl_attn/sparse_attention.h"
#include "ops/kv_quant_sparse_attn_sharedkv/entry.h"

using namespace acl_attn::ops::sparse;

extern "C" {

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
    return kvq::main_entry(check_entry("aclAttnCheckKvQuantSparseAttnSharedkv", options, report), q, oriKvOptional,
                           cmpKvOptional, oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional,
                           cmpBlockTableOptional, cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional,
                           sequsedQOptional, sequsedKvOptional, sinksOptional, metadataOptional, kvQuantMode, tileSize,
                           ropeHeadDim, softmaxScale, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight,
                           layoutQOptional, layoutKvOptional, 0, 0, returnSoftmaxLse, attnOut,
                           softmaxLseOut, nullptr, nullptr);
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
    return kvq::metadata_entry(check_entry("aclAttnCheckKvQuantSparseAttnSharedkvMetadata", options, report),
                               cuSeqLensQOptional, cuSeqLensOriKvOptional, cuSeqLensCmpKvOptional, sequsedQOptional,
                               sequsedKvOptional, numHeadsQ, numHeadsKv, headDim, batchSizeOptional, maxSeqlenQOptional,
                               maxSeqlenKvOptional, oriTopKOptional, cmpTopKOptional, kvQuantMode, tileSizeOptional,
                               ropeHeadDimOptional, cmpRatioOptional, oriMaskModeOptional, cmpMaskModeOptional,
                               oriWinLeftOptional, oriWinRightOptional, layoutQOptional, layoutKvOptional,
                               hasOriKvOptional, hasCmpKvOptional, metaData, nullptr, nullptr);
}

}  // extern "C"
