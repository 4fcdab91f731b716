/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sparse attention over a shared latent: one vector of 512 channels per token is key and value of all heads at once.
 * Every query row sees a window of original tokens, and with cmpKv also rows of a compressed stream, each of which
 * stands for cmpRatio original tokens. Per head, sinks adds one logit without a value.
 *
 *   oriKv                               sliding window (SWA)
 *   oriKv, cmpKv                        window and all compressed rows that are visible (HCA)
 *   oriKv, cmpKv, cmpSparseIndices      window and selected compressed rows (CSA)
 *
 * Sizes: B sequences, N = 1 to 128 query heads, D = 512, S1, S2, S3 token axes of query, oriKv, cmpKv; T1, T2, T3 the
 * same packed; K, K1 entries of an index list. Of sequence b, Sq, So, Sc tokens count:
 *   Sq   sequsedQ[b], or cuSeqlensQ[b+1] - cuSeqlensQ[b], or S1
 *   So   sequsedOriKv[b], or cuSeqlensOriKv[b+1] - cuSeqlensOriKv[b], or S2
 *   Sc   sequsedCmpKv[b], or cuSeqlensCmpKv[b+1] - cuSeqlensCmpKv[b], or S3, or what cmpBlockTable's columns hold
 *   R    Sc * cmpRatio + cmpResidualKv[b], the original tokens that the compressed stream stands for; callers keep it
 *        equal to So, and where they do not, visibility of compressed rows goes by R
 * Query row i stands at original position p = So - Sq + i: queries are the last tokens of their sequence.
 */
#ifndef ACLNNOP_ACLNN_SPARSE_FLASH_MLA_H_
#define ACLNNOP_ACLNN_SPARSE_FLASH_MLA_H_

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one: checks the call, sizes the workspace, hands over an executor. Reads no device memory.
 *
 * q              FP16 or BF16. layoutQ "BSND": (B,S1,N,512); "TND": (T1,N,512).
 * oriKv, cmpKv   q's dtype. layoutKv "BSND": (B,S2 or S3,1,512); "TND": (T2 or T3,1,512); "PA_BBND": a pool of blocks
 *                (blocks,blockSize,1,512) whose block axis may have any positive stride, so that one block of memory
 *                can hold both pools. layoutKv is layoutQ or "PA_BBND". oriKv is required.
 * oriSparseIndices, cmpSparseIndices
 *                INT32 (B,S1,1,K) or (T1,1,K): of each query row, tokens of oriKv or rows of cmpKv, counted inside the
 *                sequence; the first -1 ends the list. Of cmpSparseIndices the first min(K, visible) entries are looked
 *                at, and those among them that are not yet visible are skipped. oriSparseIndices (oriMaskMode 0)
 *                replaces the window.
 * oriBlockTable, cmpBlockTable
 *                INT32 (B, blocks a sequence), with "PA_BBND". Token t lies in block table[b][t / blockSize]; only
 *                entries of visible tokens are read.
 * cuSeqlensQ, cuSeqlensOriKv, cuSeqlensCmpKv
 *                INT32 (B+1), running totals that begin with 0, exactly with "TND".
 * sequsedQ, sequsedOriKv, sequsedCmpKv, cmpResidualKv
 *                INT32 (B). "PA_BBND" needs sequsedOriKv; cmpKv with cmpMaskMode 3 and cmpRatio above 1 needs
 *                cmpResidualKv, 0 to cmpRatio - 1: original tokens behind the last compressed row.
 * oriTopkLength, cmpTopkLength
 *                INT32 (B,S1,1) or (T1,1): leading entries of the row's list that count, with mask mode 0.
 * sinks          FLOAT (N), required, not multiplied by softmaxScale.
 * metadata       INT32 (1024), required: what aclnnSparseFlashMlaMetadata wrote for the same parameters.
 * oriMaskMode    4: row i sees the original tokens p - oriWinLeft .. p + oriWinRight (-1: no limit); 3: those up to p;
 *                0: all.
 * cmpMaskMode    3: row i sees the first floor((R - Sq + i + 1) / cmpRatio) compressed rows, at most Sc; 0: all Sc.
 * topkValueMode  1: index lists hold indices.
 * attnOut        q's shape and dtype. Rows that see nothing, and rows behind Sq, become 0.
 * softmaxLseOutOptional
 *                with returnSoftmaxLse: FLOAT (B,1,S1,N) or (1,T1,N), natural logarithm, sinks included; 0 where
 *                attnOut is 0 as above. Ignored otherwise.
 *
 * Optional tensors may be NULL or have 0 as first dimension; both mean absent. All but the pools must be dense.
 *
 * Ownership: everything is borrowed until the call returns; handles may be destroyed then. Data addresses must stay
 * valid until the stream has passed phase two.
 * Returns 0; 161001 for a missing required pointer; 161002 for anything else about the call. *workspaceSize and
 * *executor are written on success only. Any thread. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSparseFlashMlaGetWorkspaceSize(
    const aclTensor *q, const aclTensor *oriKvOptional, const aclTensor *cmpKvOptional,
    const aclTensor *oriSparseIndicesOptional, const aclTensor *cmpSparseIndicesOptional,
    const aclTensor *oriBlockTableOptional, const aclTensor *cmpBlockTableOptional,
    const aclTensor *cuSeqlensQOptional, const aclTensor *cuSeqlensOriKvOptional,
    const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedOriKvOptional,
    const aclTensor *sequsedCmpKvOptional, const aclTensor *cmpResidualKvOptional,
    const aclTensor *oriTopkLengthOptional, const aclTensor *cmpTopkLengthOptional, const aclTensor *sinksOptional,
    const aclTensor *metadataOptional, double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode,
    int64_t oriWinLeft, int64_t oriWinRight, char *layoutQOptional, char *layoutKvOptional, int64_t topkValueMode,
    bool returnSoftmaxLse, const aclTensor *attnOutOut, const aclTensor *softmaxLseOutOptional,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase two: puts the call on the stream and returns. `workspace` (device memory, may be NULL if phase one asked for
 * 0 bytes) must stay valid until the stream has passed. Consumes the executor whatever the outcome, unless it was made
 * repeatable. What device memory holds is checked when the call runs, and reported by the stream's next
 * synchronisation with 161002: lengths that contradict each other or the shapes, table entries that name no block,
 * indices of no row, metadata of another call. The outputs are then untouched. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnSparseFlashMla(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_SPARSE_FLASH_MLA_H_ */
