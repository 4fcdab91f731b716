/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attention of aclnn_sparse_flash_mla.h over packed, quantised rows of 640 bytes. The scenario follows from the
 * tensors that are given: oriKv alone (window), with cmpKv (window and compressed rows), with cmpKv and
 * cmpSparseIndices (window and selected compressed rows).
 *
 * A row, one token: bytes 0..127 rope, 64 BF16; 128..575 nope, 448 numbers of the tensor's type; 576..582 scales of the
 * 7 tiles of 64 nope channels, FLOAT8_E8M0; 583..639 unused. It stands for the vector (nope * scale, rope).
 *
 * Sizes: B sequences, N query heads, S1 or packed T1 query tokens, K entries of an index list. Of sequence b count
 * Sq = S1 or cuSeqlensQ[b+1] - cuSeqlensQ[b] queries, So = sequsedKv[b] original tokens, queries included, and
 * floor(So / cmpRatio) compressed rows. Query row i stands at original position p = So - Sq + i.
 */
#ifndef ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_H_
#define ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_H_

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
 * q              BF16. layoutQ "BSND": (B,S1,N,512); "TND": (T1,N,512). Channels 0..447 nope, 448..511 rope.
 * oriKv, cmpKv   FLOAT8_E4M3FN or HIFLOAT8, both the same: pools of blocks (blocks,blockSize,1,640), whose block axis
 *                may have any positive stride. oriKv is required.
 * oriSparseIndices, cuSeqlensOriKv, cuSeqlensCmpKv
 *                reserved: must be absent.
 * cmpSparseIndices
 *                INT32 (B,S1,1,K) or (T1,1,K): of each query row, compressed rows of its sequence, the first -1 ends
 *                the list.
 * oriBlockTable, cmpBlockTable
 *                INT32 (B, blocks a sequence). Required; cmpBlockTable with cmpKv.
 * cuSeqlensQ     INT32 (B+1), running totals that begin with 0, required with "TND".
 * sequsedQ       reserved, without influence here; the metadata operator uses it, so it is best left out.
 * sequsedKv      INT32 (B), required.
 * sinks          FLOAT (N), required. metadata: INT32 (1024), required, of aclnnKvQuantSparseAttnSharedkvMetadata.
 * kvQuantMode 1, tileSize 64, ropeHeadDim 64
 *                the row above; there is no other.
 * cmpRatio       original tokens of a compressed row; 1 without cmpKv.
 * oriMaskMode 4, cmpMaskMode 3
 *                row i sees original tokens p - oriWinLeft .. p and the first floor((p + 1) / cmpRatio) compressed
 *                rows.
 * layoutKv       "PA_ND".
 * returnSoftmaxLse
 *                reserved by the vendor; under profile host softmaxLse is then written, as in aclnn_sparse_flash_mla.h.
 * softmaxLse     FLOAT (B,1,S1,N) or (1,T1,N); not touched without returnSoftmaxLse, but must not be NULL.
 *
 * Everything else as in aclnn_sparse_flash_mla.h. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnKvQuantSparseAttnSharedkvGetWorkspaceSize(
    const aclTensor *q, const aclTensor *oriKvOptional, const aclTensor *cmpKvOptional,
    const aclTensor *oriSparseIndicesOptional, const aclTensor *cmpSparseIndicesOptional,
    const aclTensor *oriBlockTableOptional, const aclTensor *cmpBlockTableOptional,
    const aclTensor *cuSeqlensQOptional, const aclTensor *cuSeqlensOriKvOptional,
    const aclTensor *cuSeqlensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedKvOptional,
    const aclTensor *sinksOptional, const aclTensor *metadataOptional, int64_t kvQuantMode, int64_t tileSize,
    int64_t ropeHeadDim, double softmaxScale, int64_t cmpRatio, int64_t oriMaskMode, int64_t cmpMaskMode,
    int64_t oriWinLeft, int64_t oriWinRight, char *layoutQOptional, char *layoutKvOptional, bool returnSoftmaxLse,
    const aclTensor *attnOut, const aclTensor *softmaxLseOut, uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase two, as that of aclnnSparseFlashMla. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnKvQuantSparseAttnSharedkv(void *workspace, uint64_t workspaceSize,
                                                               aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_H_ */
