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

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_SPARSE_ATTENTION_H_ */
