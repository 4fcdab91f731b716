/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The task list of aclnnKvQuantSparseAttnSharedkv, which must be given the list of its own call.
 */
#ifndef ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA_H_
#define ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA_H_

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one. Tensors, masks, windows and layouts as in aclnn_kv_quant_sparse_attn_sharedkv.h; metaData and the values
 * returned as in aclnn_sparse_flash_mla_metadata.h.
 *
 * sequsedQ       used in place of cuSeqlensQ or maxSeqlenQ if given. B is its length, else that of cuSeqLensQ less 1,
 *                else batchSize.
 * sequsedKv      required.
 * cuSeqLensOriKv, cuSeqLensCmpKv, maxSeqlenKv, oriTopK, kvQuantMode, tileSize, ropeHeadDim, cmpMaskMode, oriWinRight
 *                have no influence on the list.
 * layoutKv       "PA_ND"; "BSND" and "TND" as far as they equal layoutQ. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadataGetWorkspaceSize(
    const aclTensor *cuSeqLensQOptional, const aclTensor *cuSeqLensOriKvOptional,
    const aclTensor *cuSeqLensCmpKvOptional, const aclTensor *sequsedQOptional, const aclTensor *sequsedKvOptional,
    int64_t numHeadsQ, int64_t numHeadsKv, int64_t headDim, int64_t batchSizeOptional, int64_t maxSeqlenQOptional,
    int64_t maxSeqlenKvOptional, int64_t oriTopKOptional, int64_t cmpTopKOptional, int64_t kvQuantMode,
    int64_t tileSizeOptional, int64_t ropeHeadDimOptional, int64_t cmpRatioOptional, int64_t oriMaskModeOptional,
    int64_t cmpMaskModeOptional, int64_t oriWinLeftOptional, int64_t oriWinRightOptional, char *layoutQOptional,
    char *layoutKvOptional, bool hasOriKvOptional, bool hasCmpKvOptional, const aclTensor *metaData,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase two, as that of aclnnSparseFlashMla. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnKvQuantSparseAttnSharedkvMetadata(void *workspace, uint64_t workspaceSize,
                                                                       aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_KV_QUANT_SPARSE_ATTN_SHAREDKV_METADATA_H_ */
