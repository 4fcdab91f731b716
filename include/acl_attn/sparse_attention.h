/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What libacl_attn adds to the sparse attention operators.
 */
#ifndef ACL_ATTN_SPARSE_ATTENTION_H_
#define ACL_ATTN_SPARSE_ATTENTION_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "acl_attn/rules.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Describes a task list of aclnnSparseFlashMlaMetadata or aclnnKvQuantSparseAttnSharedkvMetadata for people: the call
 * that it was made for, and which core does what. `metadata` is 1024 words that the processor can read. Writes at most
 * `size` bytes including the terminating zero to `text` and the size needed to `needed` (may be NULL). `text` may be
 * NULL if `size` is 0. 161001 for a null pointer. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnDescribeMetadata(const int32_t *metadata, char *text, size_t size,
                                                        size_t *needed);

/* aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize as another public copy of the operator declares it, with the pools'
 * block strides as arguments. They count elements (bytes). 0: the tensor's own; a positive one takes its place, so that
 * a dense tensor can stand for a pool with gaps. Phase two is aclnnKvQuantSparseAttnSharedkv. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnKvQuantSparseAttnSharedkvStridedGetWorkspaceSize(
    const aclTensor *q, const aclTensor *oriKvOptional, const aclTensor *cmpKvOptional,
    const aclTensor *oriSparseIndicesOptional, const aclTensor *cmpSparseIndicesOptional,
    const aclTensor *oriBlockTableOptional, const aclTensor *cmpBlockTableOptional,
    const aclTensor *cuSeqlensQOptional, const aclTensor *cuSeqlensOriKvOptional,
    const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedKvOptional,
    const aclTensor *sinksOptional, const aclTensor *metadataOptional, int64_t kvQuantMode, int64_t tileSize,
    int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode,
    int64_t oriWinLeft, int64_t oriWinRight, char *layoutQOptional, char *layoutKvOptional, int64_t oriKvStride0,
    int64_t cmpKvStride0, bool returnSoftmaxLse, const aclTensor *attnOut, const aclTensor *softmaxLseOut,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* --- What is wrong with a call: see rules.h. ---------------------------------------------------------------------- */

/* Hold a call against the rules; parameters as in the vendor's ...GetWorkspaceSize. Only shapes, dtypes and numbers
 * are asked about: what lengths, tables and lists hold is found out when a call runs. Tensors may have null addresses:
 * a call can be checked before its memory exists. `options` may be null: the rules in force; `version` and
 * `lengthsHaveNoValues` do not matter here. Return 0 whatever is found; the caller destroys the report. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnCheckSparseFlashMla(
    const aclTensor *q, const aclTensor *oriKvOptional, const aclTensor *cmpKvOptional,
    const aclTensor *oriSparseIndicesOptional, const aclTensor *cmpSparseIndicesOptional,
    const aclTensor *oriBlockTableOptional, const aclTensor *cmpBlockTableOptional, const aclTensor *cuSeqlensQOptional,
    const aclTensor *cuSeqlensOriKvOptional, const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional,
    const aclTensor *sequsedOriKvOptional, const aclTensor *sequsedCmpKvOptional,
    const aclTensor *cmpResidualKvOptional, const aclTensor *oriTopkLengthOptional,
    const aclTensor *cmpTopkLengthOptional, const aclTensor *sinksOptional, const aclTensor *metadataOptional,
    double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft,
    int64_t oriWinRight, char *layoutQOptional, char *layoutKvOptional, int64_t topkValueMode, bool returnSoftmaxLse,
    const aclTensor *attnOutOut, const aclTensor *softmaxLseOutOptional, const aclAttnCheckOptions *options,
    aclAttnReport **report);
ACL_FUNC_VISIBILITY aclnnStatus aclAttnCheckSparseFlashMlaMetadata(
    const aclTensor *cuSeqlensQOptional, const aclTensor *cuSeqlensOriKvOptional,
    const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedOriKvOptional,
    const aclTensor *sequsedCmpKvOptional, const aclTensor *cmpResidualKvOptional,
    const aclTensor *oriTopkLengthOptional, const aclTensor *cmpTopkLengthOptional, int64_t numHeadsQ,
    int64_t numHeadsKv, int64_t headDim, int64_t batchSize, int64_t maxSeqlenQ, int64_t maxSeqlenOriKv,
    int64_t maxSeqlenCmpKv, int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, const char *layoutQOptional,
    const char *layoutKvOptional, bool hasOriKv, bool hasCmpKv, const aclTensor *metaData,
    const aclAttnCheckOptions *options, aclAttnReport **report);
ACL_FUNC_VISIBILITY aclnnStatus aclAttnCheckKvQuantSparseAttnSharedkv(
    const aclTensor *q, const aclTensor *oriKvOptional, const aclTensor *cmpKvOptional,
    const aclTensor *oriSparseIndicesOptional, const aclTensor *cmpSparseIndicesOptional,
    const aclTensor *oriBlockTableOptional, const aclTensor *cmpBlockTableOptional, const aclTensor *cuSeqlensQOptional,
    const aclTensor *cuSeqlensOriKvOptional, const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional,
    const aclTensor *sequsedKvOptional, const aclTensor *sinksOptional, const aclTensor *metadataOptional,
    int64_t kvQuantMode, int64_t tileSize, int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio,
    int64_t oriMaskMode, int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, char *layoutQOptional,
    char *layoutKvOptional, bool returnSoftmaxLse, const aclTensor *attnOut,
    const aclTensor *softmaxLseOut, const aclAttnCheckOptions *options, aclAttnReport **report);
ACL_FUNC_VISIBILITY aclnnStatus aclAttnCheckKvQuantSparseAttnSharedkvMetadata(
    const aclTensor *cuSeqLensQOptional, const aclTensor *cuSeqLensOriKvOptional,
    const aclTensor *cuSeqLensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char *layoutQOptional,
    char *layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor *metaData,
    const aclAttnCheckOptions *options, aclAttnReport **report);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_SPARSE_ATTENTION_H_ */
