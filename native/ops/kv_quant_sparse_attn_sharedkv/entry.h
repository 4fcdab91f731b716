// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator's parameters, once: entry points that differ in what they are for pass theirs on. Block strides are 0
// where an entry point has none.
#pragma once

#include "aclnn/aclnn_base.h"
#include "ops/sparse_attention/entry.h"

namespace acl_attn::ops::sparse::kvq {

aclnnStatus main_entry(
    const Entry& entry, const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedKvOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char* layoutQOptional,
    char* layoutKvOptional, int64_t oriKvStride0, int64_t cmpKvStride0, bool returnSoftmaxLse, const aclTensor* attnOut,
    const aclTensor* softmaxLseOut, uint64_t* workspaceSize, aclOpExecutor** executor) noexcept;

aclnnStatus metadata_entry(
    const Entry& entry, const aclTensor* cuSeqLensQOptional, const aclTensor* cuSeqLensOriKvOptional,
    const aclTensor* cuSeqLensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char* layoutQOptional,
    char* layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor* metaData,
    uint64_t* workspaceSize, aclOpExecutor** executor) noexcept;

}  // namespace acl_attn::ops::sparse::kvq
