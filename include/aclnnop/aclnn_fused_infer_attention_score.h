/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first form of aclnn_fused_infer_attention_score_v5.h, which explains the parameters: without shared prefix,
 * ropes, sink, start indices, and without scales for key and value apart. Quantised keys and values take
 *
 *   antiquantScale, antiquantOffset   key's and value's behind one another on a first axis of 2.
 *       antiquantMode 0, per channel: (2, N*D), (2, N, D), (2, N, 1, D), or (2) per tensor; 1, per token: (2, B, S).
 *
 * Products of the A2 and A3 series have this interface; the host target has all of them.
 */
#ifndef ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_H_
#define ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_H_

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase one. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFusedInferAttentionScoreGetWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor *pseShiftOptional,
    const aclTensor *attenMaskOptional, const aclIntArray *actualSeqLengthsOptional,
    const aclIntArray *actualSeqLengthsKvOptional, const aclTensor *deqScale1Optional,
    const aclTensor *quantScale1Optional, const aclTensor *deqScale2Optional, const aclTensor *quantScale2Optional,
    const aclTensor *quantOffset2Optional, const aclTensor *antiquantScaleOptional,
    const aclTensor *antiquantOffsetOptional, const aclTensor *blockTableOptional,
    const aclTensor *queryPaddingSizeOptional, const aclTensor *kvPaddingSizeOptional, int64_t numHeads,
    double scaleValue, int64_t preTokens, int64_t nextTokens, char *inputLayout, int64_t numKeyValueHeads,
    int64_t sparseMode, int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag,
    const aclTensor *attentionOut, const aclTensor *softmaxLse, uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase two. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFusedInferAttentionScore(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_H_ */
