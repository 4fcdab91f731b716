/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Packed rows: what aclnnKvQuantSparseAttnSharedkv reads, and the rows of other operators and libraries.
 *
 * A row holds one-byte floats, each tile of which shares a scale, and 64 bf16 numbers (rope). Bytes:
 *
 *                              codes      rope       scales                  padding    channels of a row
 *   ACL_ATTN_ROW_640_E8M0      128-575    0-127      576-582: 7 of E8M0      583-639    448 + 64
 *   ACL_ATTN_ROW_640_BF16      128-575    0-127      576-589: 7 of bf16      590-639    448 + 64
 *   ACL_ATTN_ROW_608_BF16      128-575    0-127      576-589: 7 of bf16      590-607    448 + 64
 *   ACL_ATTN_ROW_584_E8M0      0-447      448-575    576-582: 7 of E8M0      583        448 + 64
 *   ACL_ATTN_ROW_656_FLOAT     0-511      528-655    512-527: 4 of fp32      none       512 + 64
 *
 * Tiles are of 64 codes, in the last of 128. The operator takes the first. Rows of 584 bytes have their parts together
 * here; libraries that use them store a block's codes and rope first, then all of its scales.
 */
#ifndef ACL_ATTN_PACKED_ROWS_H_
#define ACL_ATTN_PACKED_ROWS_H_

#include <stdint.h>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_ATTN_ROW_640_E8M0 = 0,
    ACL_ATTN_ROW_640_BF16 = 1,
    ACL_ATTN_ROW_608_BF16 = 2,
    ACL_ATTN_ROW_584_E8M0 = 3,
    ACL_ATTN_ROW_656_FLOAT = 4
} aclAttnRowKind;

/* Rows in blocks: slot s is row s % blockSize of block s / blockSize. `address` must be host memory. */
typedef struct {
    aclAttnRowKind kind;
    aclDataType codes;   /* ACL_FLOAT8_E4M3FN; ACL_HIFLOAT8 too in rows of 640 bytes */
    void *address;       /* of slot 0 */
    int64_t blockCount;
    int64_t blockSize;
    int64_t blockStride; /* bytes between blocks, at least blockSize rows */
} aclAttnRowPool;

/* Packs `count` rows of numbers. Row i begins i * valuesStride elements behind `values`, holds the codes' channels,
 * then rope, and goes to slot slots[i]; -1: nowhere. Without `slots` row i goes to slot i. `valuesType`: ACL_FLOAT,
 * ACL_FLOAT16, ACL_BF16.
 *
 * A tile's scale brings its largest number to at most fullScale; 0 means 448 (E4M3) or 15 (HIFLOAT8, which has fewer
 * bits of mantissa beyond). E8M0 scales are the next power of two. What exceeds a format saturates.
 *
 * 161001 for a null pointer; 161002 for slots outside of the pool, slots that occur twice, memory that overlaps, and
 * numbers that are not finite. These last are found while packing: their rows are not written, others may be. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnPackRows(const void *values, aclDataType valuesType, int64_t valuesStride,
                                                int64_t count, const int64_t *slots, double fullScale,
                                                const aclAttnRowPool *pool);

/* The way back: row i of `values` from slot slots[i] (-1: zeros), of which several may be the same. fp32 numbers are
 * code times scale, 16-bit ones are that rounded; bf16 is what the operator computes with. */
ACL_FUNC_VISIBILITY aclnnStatus aclAttnUnpackRows(const aclAttnRowPool *pool, const int64_t *slots, int64_t count,
                                                  void *values, aclDataType valuesType, int64_t valuesStride);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ATTN_PACKED_ROWS_H_ */
