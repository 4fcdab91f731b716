/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The task list of aclnnSparseFlashMla: which core computes which query rows against which columns. The main operator
 * must be given the list of its own call.
 */
#ifndef ACLNNOP_ACLNN_SPARSE_FLASH_MLA_METADATA_H_
#define ACLNNOP_ACLNN_SPARSE_FLASH_MLA_METADATA_H_

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one. Tensors, masks, windows and layouts as in aclnn_sparse_flash_mla.h; of tensors only shapes are looked at.
 *
 * numHeadsQ      1 to 128. numHeadsKv 1, headDim 512.
 * batchSize      B where neither sequsedQ nor cuSeqlensQ says it.
 * maxSeqlenQ, maxSeqlenOriKv, maxSeqlenCmpKv
 *                the token axes of "BSND" tensors, which need them; 0 will do otherwise.
 * oriTopk, cmpTopk  entries of an index list; 0 without one.
 * hasOriKv, hasCmpKv  whether the main call is given oriKv, cmpKv.
 * metaData       output, INT32 (1024). 9 words for each of 36 cube cores (enable; start: batch * head, row block,
 *                column block; end, where the next core starts: the same three; first slot of partial results; most
 *                column blocks of a core), then from word 324 on 8 for each of 72 vector cores (enable; batch * head,
 *                row block; first slot, slots; first row, rows; unused). Words from 900 on describe the call, so that
 *                aclnnSparseFlashMla can tell its own metadata from another's; devices do not look at them.
 *
 * The list is for the cores that aclrtGetResInCurrentThread reports, at most 36 and 72. With ACL_OPT_DETERMINISTIC at
 * level 3, how a row is cut does not depend on the other sequences. aclAttnDescribeMetadata prints a list.
 *
 * Returns 0; 561103 for a null workspaceSize or executor; 161001 for a null metaData; 161002 for anything else. The
 * workspace is 0 bytes. Lengths are read when the call runs; what is wrong with them is reported by the stream's next
 * synchronisation with 161002, and metaData is then untouched. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSparseFlashMlaMetadataGetWorkspaceSize(
    const aclTensor *cuSeqlensQOptional, const aclTensor *cuSeqlensOriKvOptional,
    const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedOriKvOptional,
    const aclTensor *sequsedCmpKvOptional, const aclTensor *cmpResidualKvOptional,
    const aclTensor *oriTopkLengthOptional, const aclTensor *cmpTopkLengthOptional, int64_t numHeadsQ,
    int64_t numHeadsKv, int64_t headDim, int64_t batchSize, int64_t maxSeqlenQ, int64_t maxSeqlenOriKv,
    int64_t maxSeqlenCmpKv, int64_t oriTopk, int64_t cmpTopk, int64_t cmpRatio, int64_t oriMaskMode,
    int64_t cmpMaskMode, int64_t oriWinLeft, int64_t oriWinRight, const char *layoutQOptional,
    const char *layoutKvOptional, bool hasOriKv, bool hasCmpKv, const aclTensor *metaData, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/* Phase two, as that of aclnnSparseFlashMla. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSparseFlashMlaMetadata(void *workspace, uint64_t workspaceSize,
                                                            aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_SPARSE_FLASH_MLA_METADATA_H_ */
