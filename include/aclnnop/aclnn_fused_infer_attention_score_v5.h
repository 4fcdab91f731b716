/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fused attention for prefill and decode: out = softmax(query * key^T * scaleValue + mask) * value, per query head.
 *
 * Sizes: B sequences, N = numHeads query heads, Nkv key/value heads (N a multiple of Nkv; query head h reads key/value
 * head h / (N / Nkv)), Sq and Skv the token axes, T and Tkv packed token axes, D head dim of query and key, Dv of value
 * and output.
 */
#ifndef ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V5_H_
#define ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V5_H_

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
 * query          FP16 or BF16, or quantised (see queryQuantMode). inputLayout is "QL" or "QL_OL": QL orders query and
 *                unpaged key/value, OL attentionOut.
 *                  BSH (B,Sq,N*D)   BSND (B,Sq,N,D)   BNSD (B,N,Sq,D)   TND (T,N,D)   NTD (N,T,D)
 *                  BSH_BNSD BSND_BNSD BNSD_BSND NTD_TND, and with (N,B,Sq,Dv) / (N,T,Dv) outputs:
 *                  BSH_NBSD BSND_NBSD BNSD_NBSD TND_NTD
 *                NULL means "BSH".
 * key, value     lists, of query's dtype or stored (see keyAntiquantScale). One member: shaped as query with Nkv, Skv
 *                (Tkv), D or Dv; or, with a blockTable, a paged cache whose rank names its layout, whatever inputLayout
 *                says:
 *                  3 (blocks, blockSize, Nkv*D)   4 (blocks, Nkv, blockSize, D)
 *                  5 (blocks, Nkv, D/16, blockSize, 16); with a quantised query 32 for 16
 *                The block axis (ranks 4, 5: also the head axis) of a paged cache may have any positive stride.
 *                B members: one sequence each, with batch 1 and its own Skv; not with packed (T) layouts.
 * attenMask      BOOL, INT8 or UINT8, non-zero hides. sparseMode 0, 1: (B or 1, [1,] >= Sq, >= Skv), or for all
 *                sequences (>= Sq, >= Skv). sparseMode 2, 3, 4: ([[1,] 1,] 2048, 2048), contents ignored.
 * actualSeqLengths, actualSeqLengthsKv
 *                tokens used of each sequence: absent (all), one entry (for every sequence) or at least B entries.
 *                Packed layouts: required, running totals without a leading 0, one entry a sequence, the last one T.
 *                Paged: actualSeqLengthsKv required and always plain lengths. Values are copied.
 * blockTable     INT32 (B, blocks a sequence), device memory. Only entries that actualSeqLengthsKv reaches are read.
 * numKeyValueHeads  0: numHeads.
 * preTokens, nextTokens
 *                the window of sparseMode 0 with a mask (row i sees columns i - preTokens .. i + nextTokens) and of
 *                sparseMode 4 (the same, shifted so that the last row stands at the last column).
 * sparseMode     0, 1 the mask decides; 2 causal, first row at the first column; 3 causal, last row at the last
 *                column; 4 band. The host target takes 2, 3 and 4 without a mask as well.
 * innerPrecise   0 to 3; no influence on the host target, which always works in high precision.
 * softmaxLseFlag true: softmaxLse is written; false: it is ignored and may be NULL.
 * attentionOut   query's shape in the order OL, with Dv for D. Rows beyond a sequence's length become 0, and so do
 *                rows that see no column. Must not overlap another tensor.
 * softmaxLse     FLOAT, natural logarithm. (B,N,Sq,1); packed layouts (T,N,1). +inf where attentionOut is 0 as above.
 *
 * pseShift, pseType, qStartIdx, kvStartIdx
 *                pseType 0: (B or 1, N, 1 or >= Sq, >= Skv) in query's dtype, added to the scaled scores. 2, 3: FLOAT
 *                (N), slopes; -slope * |d| or -slope * sqrt(|d|) is added, d = (j + kvStartIdx) - (i + qStartIdx).
 * queryRope, keyRope
 *                query's and key's shapes with up to 64 channels, whose products are added to the scores. With D = 512
 *                (decode MLA) values are key's channels, and value has only a shape.
 * keySharedPrefix, valueSharedPrefix, actualSharedPrefixLen
 *                tokens in front of every sequence's own, in the layout of key with B = 1; all of them, or as many as
 *                the array's one entry says. actualSeqLengthsKv does not count them; masks and biases do.
 * queryPaddingSize, kvPaddingSize
 *                INT64 (1) in device memory, read when the call runs: so many padding tokens stand behind the tokens in
 *                use, which end there. Masks of modes 0 and 1, biases and scales for each token go by the token axes.
 * learnableSink  (N) in query's dtype: a logit for each head in the denominator and in softmaxLse.
 * keyAntiquantScale, keyAntiquantOffset, keyAntiquantMode, and those of value
 *                for key and value of INT8, INT4 (or INT32, eight to an element), HIFLOAT8, FLOAT8_E4M3FN, FLOAT4_E2M1:
 *                a stored x means (x + offset) * scale. Equal modes, or 0 for key and 1 for value:
 *                  0 per tensor (1), per channel (N*D), (N,D), (1,N,1,D)   1 per token (B,>= S)    2 per head (N)
 *                  3 per token and head (B,N,>= S)   4, 5 as 1, 3 but paged (blocks,[N,] blockSize)
 *                  6 per 32 channels of a token (1,B,N,>= S,D/32), FLOAT8_E8M0
 *                Scales of modes 0 and 2 have query's dtype or are FLOAT, those of 1, 3, 4 and 5 are FLOAT.
 * quantScale2, quantOffset2
 *                for attentionOut of INT8, FLOAT8_E4M3FN or HIFLOAT8: out * scale + offset, FLOAT or BF16, (1) or
 *                one for each head and channel. Rows that see no key are 0.
 * queryQuantMode, dequantScaleQuery, deqScale1, quantScale1, deqScale2
 *                for query, key and value that are all of INT8, FLOAT8_E4M3FN or HIFLOAT8, with attentionOut of FP16 or
 *                BF16. The scheme is chosen by the modes of query, key and value. w is a softmax weight before the
 *                division by their sum; the largest is 1. No sink, prefix, tensor list or quantised attentionOut.
 *                0, 0, 0  INT8. Scores are q * k * deqScale1 * scaleValue + pseShift (FP16), in FP16; w * quantScale1
 *                    is rounded to INT8; out is its product with value, * deqScale2. FLOAT (1), the first and the last
 *                    also UINT64: FLOAT in the low half. Of deqScale1 the upper 19 bits count.
 *                3, 0, 0  decode MLA, ropes BF16, attentionOut BF16. Scores are (q * k + queryRope * keyRope) *
 *                    dequantScaleQuery * keyAntiquantScale * scaleValue: queryRope is divided by the two scales by the
 *                    caller. Values are key * valueAntiquantScale. FLOAT: query's shape without D (BSH: (B,Sq,N)), and
 *                    (1) for key and value.
 *                3, 3, 2  FLOAT8_E4M3FN, a cache of rank 4. FLOAT: query's shape without D; (blocks,Nkv,blockSize);
 *                    (Nkv). w * quantScale1 (FLOAT (1), absent: 1) is rounded to FLOAT8_E4M3FN.
 *                6, 6, 8  FLOAT8_E4M3FN, TND, D and Dv multiples of 64; ropes BF16 or none. FLOAT8_E8M0, one for 32
 *                    channels or tokens, in pairs:
 *                      query (T,N,D/64,2) or (Nkv,T,N/Nkv,D/64,2); key (Tkv,Nkv,D/64,2);
 *                      value (pairs,Nkv,Dv,2), where each sequence begins a pair;
 *                      rank 4: key (blocks,Nkv,blockSize,D/64,2), value (blocks,Nkv,blockSize/64,Dv,2);
 *                      rank 5: key (blocks,Nkv,blockSize/16,D/64,16,2), value (blocks,Nkv,Dv/16,blockSize/64,16,2).
 *                    w as above; softmaxLse contains ln(quantScale1).
 *                Paged scales of key and value may have any positive strides on the block and the head axis.
 * antiquantScale, antiquantOffset, antiquantMode, keyRopeAntiquantScale
 *                reserved: must be absent, 0.
 *
 * Optional tensors may be NULL or have no elements; both mean absent.
 *
 * Ownership: everything is borrowed until the call returns; handles may be destroyed then. Data addresses must stay
 * valid until the stream has passed phase two. (CANN wants the handles kept until phase two has returned.)
 * Returns 0; 161001 for a missing required pointer; 161002 for a type or format that no kernel takes, or a dead handle;
 * 561002 for anything else about the call. *workspaceSize and *executor are written on success only. Any thread. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFusedInferAttentionScoreV5GetWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor *pseShiftOptional,
    const aclTensor *attenMaskOptional, const aclIntArray *actualSeqLengthsOptional,
    const aclIntArray *actualSeqLengthsKvOptional, const aclTensor *deqScale1Optional,
    const aclTensor *quantScale1Optional, const aclTensor *deqScale2Optional, const aclTensor *quantScale2Optional,
    const aclTensor *quantOffset2Optional, const aclTensor *antiquantScaleOptional,
    const aclTensor *antiquantOffsetOptional, const aclTensor *blockTableOptional,
    const aclTensor *queryPaddingSizeOptional, const aclTensor *kvPaddingSizeOptional,
    const aclTensor *keyAntiquantScaleOptional, const aclTensor *keyAntiquantOffsetOptional,
    const aclTensor *valueAntiquantScaleOptional, const aclTensor *valueAntiquantOffsetOptional,
    const aclTensor *keySharedPrefixOptional, const aclTensor *valueSharedPrefixOptional,
    const aclIntArray *actualSharedPrefixLenOptional, const aclTensor *queryRopeOptional,
    const aclTensor *keyRopeOptional, const aclTensor *keyRopeAntiquantScaleOptional,
    const aclTensor *dequantScaleQueryOptional, const aclTensor *learnableSinkOptional,
    const aclIntArray *qStartIdxOptional, const aclIntArray *kvStartIdxOptional, int64_t numHeads, double scaleValue,
    int64_t preTokens, int64_t nextTokens, char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
    int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t keyAntiquantMode,
    int64_t valueAntiquantMode, int64_t queryQuantMode, int64_t pseType, const aclTensor *attentionOut,
    const aclTensor *softmaxLse, uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase two: puts the call on the stream and returns. `workspace` (device memory, may be NULL if phase one asked for
 * 0 bytes) must stay valid until the stream has passed. Consumes the executor whatever the outcome, unless it was made
 * repeatable. What is only known on the device (a blockTable entry that names no block) is reported by the stream's
 * next synchronisation; the outputs are then untouched. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFusedInferAttentionScoreV5(void *workspace, uint64_t workspaceSize,
                                                                aclOpExecutor *executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V5_H_ */
