// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "acl_attn/sparse_attention.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"
#include "meta/executor.h"
#include "ops/sparse_flash_mla/rules.h"
#include "ops/sparse_attention/entry.h"
#include "runtime/last_error.h"

using namespace acl_attn;
using namespace acl_attn::ops::sparse;

namespace {

constexpr Operator kOperator = Operator::sparse_flash_mla;

// Parameters stand here once; entry points that differ in what they are for pass theirs on.
aclnnStatus main_entry(
    const Entry& entry, const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedOriKvOptional, const aclTensor* sequsedCmpKvOptional,
    const aclTensor* cmpResidualKvOptional, const aclTensor* oriTopkLengthOptional,
    const aclTensor* cmpTopkLengthOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft,
    int64_t oriWinRight, char* layoutQOptional, char* layoutKvOptional, int64_t topkValueMode, bool returnSoftmaxLse,
    const aclTensor* attnOutOut, const aclTensor* softmaxLseOutOptional, uint64_t* workspaceSize,
    aclOpExecutor** executor) noexcept {
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
        call.tensors[kSequsedOriKv].handle = sequsedOriKvOptional;
        call.tensors[kSequsedCmpKv].handle = sequsedCmpKvOptional;
        call.tensors[kCmpResidualKv].handle = cmpResidualKvOptional;
        call.tensors[kOriTopkLength].handle = oriTopkLengthOptional;
        call.tensors[kCmpTopkLength].handle = cmpTopkLengthOptional;
        call.tensors[kSinks].handle = sinksOptional;
        call.tensors[kMetadata].handle = metadataOptional;
        call.outputs[kAttnOut].handle = attnOutOut;
        call.outputs[kSoftmaxLse].handle = softmaxLseOutOptional;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        call.softmax_scale = softmaxScale;
        call.cmp_ratio = cmpRatio;
        call.ori_mask_mode = oriMaskMode;
        call.cmp_mask_mode = cmpMaskMode;
        call.ori_win_left = oriWinLeft;
        call.ori_win_right = oriWinRight;
        call.layout_q = layoutQOptional;
        call.layout_kv = layoutKvOptional;
        call.topk_value_mode = topkValueMode;
        call.return_softmax_lse = returnSoftmaxLse;
        return enter(entry, mla::kCatalogue, call, workspaceSize, executor);
    });
}

aclnnStatus metadata_entry(
    const Entry& entry, const aclTensor* cuSeqlensQOptional, const aclTensor* cuSeqlensOriKvOptional,
    const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedOriKvOptional,
    const aclTensor* sequsedCmpKvOptional, const aclTensor* cmpResidualKvOptional,
    const aclTensor* oriTopkLengthOptional, const aclTensor* cmpTopkLengthOptional, int64_t numHeadsQ,
    int64_t numHeadsKv, int64_t headDim, int64_t batchSize, int64_t maxSeqlenQ, int64_t maxSeqlenOriKv,
    int64_t maxSeqlenCmpKv, int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, const char* layoutQOptional,
    const char* layoutKvOptional, bool hasOriKv, bool hasCmpKv, const aclTensor* metaData, uint64_t* workspaceSize,
    aclOpExecutor** executor) noexcept {
    return guarded(entry.api, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&] {
        MetadataCall call;
        call.op = kOperator;
        call.tensors[kCuSeqlensQ].handle = cuSeqlensQOptional;
        call.tensors[kCuSeqlensOriKv].handle = cuSeqlensOriKvOptional;
        call.tensors[kCuSeqlensCmpKv].handle = cuSeqlensCmpKvOptional;
        call.tensors[kSequsedQ].handle = sequsedQOptional;
        call.tensors[kSequsedOriKv].handle = sequsedOriKvOptional;
        call.tensors[kSequsedCmpKv].handle = sequsedCmpKvOptional;
        call.tensors[kCmpResidualKv].handle = cmpResidualKvOptional;
        call.tensors[kOriTopkLength].handle = oriTopkLengthOptional;
        call.tensors[kCmpTopkLength].handle = cmpTopkLengthOptional;
        call.metadata.handle = metaData;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        call.num_heads_q = numHeadsQ;
        call.num_heads_kv = numHeadsKv;
        call.head_dim = headDim;
        call.batch_size = batchSize;
        call.max_seqlen_q = maxSeqlenQ;
        call.max_seqlen_ori_kv = maxSeqlenOriKv;
        call.max_seqlen_cmp_kv = maxSeqlenCmpKv;
        call.ori_topk = oriTopk;
        call.cmp_topk = cmpTopk;
        call.cmp_ratio = cmpRatio;
        call.ori_mask_mode = oriMaskMode;
        call.cmp_mask_mode = cmpMaskMode;
        call.ori_win_left = oriWinLeft;
        call.ori_win_right = oriWinRight;
        call.layout_q = layoutQOptional;
        call.layout_kv = layoutKvOptional;
        call.has_ori_kv = hasOriKv;
        call.has_cmp_kv = hasCmpKv;
        return enter(entry, mla::kMetadataCatalogue, call, workspaceSize, executor);
    });
}

}  // namespace

extern "C" {

aclnnStatus aclnnSparseFlashMlaGetWorkspaceSize(
    const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedOriKvOptional, const aclTensor* sequsedCmpKvOptional,
    const aclTensor* cmpResidualKvOptional, const aclTensor* oriTopkLengthOptional,
    const aclTensor* cmpTopkLengthOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft,
    int64_t oriWinRight, char* layoutQOptional, char* layoutKvOptional, int64_t topkValueMode, bool returnSoftmaxLse,
    const aclTensor* attnOutOut, const aclTensor* softmaxLseOutOptional, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
    return main_entry({"aclnnSparseFlashMlaGetWorkspaceSize"}, q, oriKvOptional, cmpKvOptional,
                      oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                      cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                      sequsedOriKvOptional, sequsedCmpKvOptional, cmpResidualKvOptional, oriTopkLengthOptional,
                      cmpTopkLengthOptional, sinksOptional, metadataOptional, softmaxScale, cmpRatio, oriMaskMode,
                      cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional, layoutKvOptional, topkValueMode,
                      returnSoftmaxLse, attnOutOut, softmaxLseOutOptional, workspaceSize, executor);
}

aclnnStatus aclnnSparseFlashMla(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {
    return meta::launch(api_name(kOperator), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnSparseFlashMlaMetadataGetWorkspaceSize(
    const aclTensor* cuSeqlensQOptional, const aclTensor* cuSeqlensOriKvOptional,
    const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedOriKvOptional,
    const aclTensor* sequsedCmpKvOptional, const aclTensor* cmpResidualKvOptional,
    const aclTensor* oriTopkLengthOptional, const aclTensor* cmpTopkLengthOptional, int64_t numHeadsQ,
    int64_t numHeadsKv, int64_t headDim, int64_t batchSize, int64_t maxSeqlenQ, int64_t maxSeqlenOriKv,
    int64_t maxSeqlenCmpKv, int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, const char* layoutQOptional,
    const char* layoutKvOptional, bool hasOriKv, bool hasCmpKv, const aclTensor* metaData, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
    return metadata_entry({"aclnnSparseFlashMlaMetadataGetWorkspaceSize"}, cuSeqlensQOptional, cuSeqlensOriKvOptional,
                          cuSeqlensCmpKvOptional, sequsedQOptional, sequsedOriKvOptional, sequsedCmpKvOptional,
                          cmpResidualKvOptional, oriTopkLengthOptional, cmpTopkLengthOptional, numHeadsQ, numHeadsKv,
                          headDim, batchSize, maxSeqlenQ, maxSeqlenOriKv, maxSeqlenCmpKv, oriTopk, cmpTopk, cmpRatio,
                          oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional, layoutKvOptional,
                          hasOriKv, hasCmpKv, metaData, workspaceSize, executor);
}

aclnnStatus aclnnSparseFlashMlaMetadata(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream) {
    return meta::launch(metadata_api_name(kOperator), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclAttnCheckSparseFlashMla(
    const aclTensor* q, const aclTensor* oriKvOptional, const aclTensor* cmpKvOptional,
    const aclTensor* oriSparseIndicesOptional, const aclTensor* cmpSparseIndicesOptional,
    const aclTensor* oriBlockTableOptional, const aclTensor* cmpBlockTableOptional, const aclTensor* cuSeqlensQOptional,
    const aclTensor* cuSeqlensOriKvOptional, const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional,
    const aclTensor* sequsedOriKvOptional, const aclTensor* sequsedCmpKvOptional,
    const aclTensor* cmpResidualKvOptional, const aclTensor* oriTopkLengthOptional,
    const aclTensor* cmpTopkLengthOptional, const aclTensor* sinksOptional, const aclTensor* metadataOptional,
    double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft,
    int64_t oriWinRight, char* layoutQOptional, char* layoutKvOptional, int64_t topkValueMode, bool returnSoftmaxLse,
    const aclTensor* attnOutOut, const aclTensor* softmaxLseOutOptional, const aclAttnCheckOptions* options,
    aclAttnReport** report) {
    return main_entry(check_entry("aclAttnCheckSparseFlashMla", options, report), q, oriKvOptional, cmpKvOptional,
                      oriSparseIndicesOptional, cmpSparseIndicesOptional, oriBlockTableOptional, cmpBlockTableOptional,
                      cuSeqlensQOptional, cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional,
                      sequsedOriKvOptional, sequsedCmpKvOptional, cmpResidualKvOptional, oriTopkLengthOptional,
                      cmpTopkLengthOptional, sinksOptional, metadataOptional, softmaxScale, cmpRatio, oriMaskMode,
                      cmpMaskMode, oriWinLeft, oriWinRight, layoutQOptional, layoutKvOptional, topkValueMode,
                      returnSoftmaxLse, attnOutOut, softmaxLseOutOptional, nullptr, nullptr);
}

aclnnStatus aclAttnCheckSparseFlashMlaMetadata(
    const aclTensor* cuSeqlensQOptional, const aclTensor* cuSeqlensOriKvOptional,
    const aclTensor* cuSeqlensCmpKvOptional, const aclTensor* sequsedQOptional, const aclTensor* sequsedOriKvOptional,
    const aclTensor* sequsedCmpKvOptional, const aclTensor* cmpResidualKvOptional,
    const aclTensor* oriTopkLengthOptional, const aclTensor* cmpTopkLengthOptional, int64_t numHeadsQ,
    int64_t numHeadsKv, int64_t headDim, int64_t batchSize, int64_t maxSeqlenQ, int64_t maxSeqlenOriKv,
    int64_t maxSeqlenCmpKv, int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, const char* layoutQOptional,
    const char* layoutKvOptional, bool hasOriKv, bool hasCmpKv, const aclTensor* metaData,
    const aclAttnCheckOptions* options, aclAttnReport** report) {
    return metadata_entry(check_entry("aclAttnCheckSparseFlashMlaMetadata", options, report), cuSeqlensQOptional,
                          cuSeqlensOriKvOptional, cuSeqlensCmpKvOptional, sequsedQOptional, sequsedOriKvOptional,
                          sequsedCmpKvOptional, cmpResidualKvOptional, oriTopkLengthOptional, cmpTopkLengthOptional,
                          numHeadsQ, numHeadsKv, headDim, batchSize, maxSeqlenQ, maxSeqlenOriKv, maxSeqlenCmpKv,
                          oriTopk, cmpTopk, cmpRatio, oriMaskMode, cmpMaskMode, oriWinLeft, oriWinRight,
                          layoutQOptional, layoutKvOptional, hasOriKv, hasCmpKv, metaData, nullptr, nullptr);
}

}  // extern "C"
