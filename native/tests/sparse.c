/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a C program does with SparseFlashMla: packed queries over paged rows, a window and selected compressed rows, at
 * the sizes of the vendor's sample program. Metadata, both phases, the right numbers, an error with its message, and
 * nothing left behind.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"
#include "acl_attn/sparse_attention.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"
#include "check.h"

enum { B = 4, S1 = 128, S2 = 8192, RATIO = 4, S3 = S2 / RATIO, N = 64, D = 512, K = 512, BLOCK = 128 };
enum { T = B * S1, ORI_BLOCKS = S2 / BLOCK, CMP_BLOCKS = S3 / BLOCK, WINDOW = 128 };

static const double scale = 0.04419417382415922; /* 1 / sqrt(512) */

static uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

/* FP16 codes of numbers between 1/16 and 1/2, of both signs. */
static aclFloat16 sample(uint32_t i) {
    const uint32_t bits = mixed(i);
    return (aclFloat16)((0x2c00 + bits % 0x0c00) | (bits >> 16 & 0x8000));
}

/* Logical block j of sequence b lies anywhere in the pool: 7 is prime to all the sizes here. */
static int32_t place(int b, int j, int blocks) { return (int32_t)((b * blocks + j) * 7 % (B * blocks)); }

static const aclFloat16 *row_of(const aclFloat16 *pool, int b, int token, int blocks) {
    return pool + ((size_t)place(b, token / BLOCK, blocks) * BLOCK + (size_t)(token % BLOCK)) * D;
}

/* The k-th compressed row that query row i of a sequence selects. 2053 is prime, so that none comes twice. */
static int32_t selected(int i, int k) {
    const int visible = (S2 - S1 + i + 1) / RATIO;
    return (int32_t)((k * 2053 + i) % visible);
}

static void add_row(const aclFloat16 *q, const aclFloat16 *row, double *sum, double *out) {
    double score = 0.0;
    for (int d = 0; d < D; ++d) score += (double)aclFloat16ToFloat(q[d]) * aclFloat16ToFloat(row[d]);
    const double p = exp(score * scale);
    *sum += p;
    for (int d = 0; d < D; ++d) out[d] += p * aclFloat16ToFloat(row[d]);
}

/* One head of one query row by the formula. Returns the LSE. */
static double plain_row(const aclFloat16 *q, const aclFloat16 *ori, const aclFloat16 *cmp, float sink, int b, int i,
                        double *out) {
    const int position = S2 - S1 + i;
    double sum = exp(sink);
    for (int d = 0; d < D; ++d) out[d] = 0.0;
    for (int j = position - WINDOW + 1; j <= position; ++j) add_row(q, row_of(ori, b, j, ORI_BLOCKS), &sum, out);
    for (int k = 0; k < K; ++k) add_row(q, row_of(cmp, b, selected(i, k), CMP_BLOCKS), &sum, out);
    for (int d = 0; d < D; ++d) out[d] /= sum;
    return log(sum);
}

static void *device_memory(size_t bytes) {
    void *device = NULL;
    CHECK_OK(aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return device;
}

static void *device_copy(const void *host, size_t bytes) {
    void *device = device_memory(bytes);
    CHECK_OK(aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return device;
}

static aclTensor *tensor(const int64_t *dims, uint64_t rank, aclDataType type, void *data) {
    aclTensor *made = aclCreateTensor(dims, rank, type, NULL, 0, ACL_FORMAT_ND, dims, rank, data);
    CHECK(made != NULL);
    return made;
}

enum {
    Q, ORI, CMP, INDICES, ORI_TABLE, CMP_TABLE, CU_Q, USED_ORI, USED_CMP, RESIDUAL, SINKS, METADATA, OUT, LSE, COUNT
};
static void *memory[COUNT];
static aclTensor *tensors[COUNT];

static void make(int what, const void *host, size_t bytes, aclDataType type, uint64_t rank, int64_t a, int64_t b,
                 int64_t c, int64_t d) {
    const int64_t dims[] = {a, b, c, d};
    memory[what] = host == NULL ? device_memory(bytes) : device_copy(host, bytes);
    tensors[what] = tensor(dims, rank, type, memory[what]);
}

static aclnnStatus phase_one(const aclTensor *metadata, char *layout_kv, uint64_t *size, aclOpExecutor **executor) {
    char layout_q[] = "TND";
    return aclnnSparseFlashMlaGetWorkspaceSize(
        tensors[Q], tensors[ORI], tensors[CMP], NULL, tensors[INDICES], tensors[ORI_TABLE], tensors[CMP_TABLE],
        tensors[CU_Q], NULL, NULL, NULL, tensors[USED_ORI], tensors[USED_CMP], tensors[RESIDUAL], NULL, NULL,
        tensors[SINKS], metadata, scale, RATIO, 4, 3, WINDOW - 1, 0, layout_q, layout_kv, 1, true, tensors[OUT],
        tensors[LSE], size, executor);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = NULL;
    CHECK_OK(aclrtCreateStream(&stream));

    const size_t q_count = (size_t)T * N * D, ori_count = (size_t)B * S2 * D, cmp_count = (size_t)B * S3 * D;
    aclFloat16 *q = malloc(q_count * 2), *ori = malloc(ori_count * 2), *cmp = malloc(cmp_count * 2);
    for (size_t i = 0; i < q_count; ++i) q[i] = sample((uint32_t)i);
    for (size_t i = 0; i < ori_count; ++i) ori[i] = sample((uint32_t)i + 0x40000000U);
    for (size_t i = 0; i < cmp_count; ++i) cmp[i] = sample((uint32_t)i + 0x80000000U);
    static int32_t indices[T * K], ori_table[B * ORI_BLOCKS], cmp_table[B * CMP_BLOCKS];
    static float sinks[N];
    for (int t = 0; t < T; ++t) {
        for (int k = 0; k < K; ++k) indices[t * K + k] = selected(t % S1, k);
    }
    for (int b = 0; b < B; ++b) {
        for (int j = 0; j < ORI_BLOCKS; ++j) ori_table[b * ORI_BLOCKS + j] = place(b, j, ORI_BLOCKS);
        for (int j = 0; j < CMP_BLOCKS; ++j) cmp_table[b * CMP_BLOCKS + j] = place(b, j, CMP_BLOCKS);
    }
    for (int h = 0; h < N; ++h) sinks[h] = (float)h / 16.0f;
    const int32_t cu_q[B + 1] = {0, S1, 2 * S1, 3 * S1, 4 * S1};
    const int32_t used_ori[B] = {S2, S2, S2, S2}, used_cmp[B] = {S3, S3, S3, S3}, residual[B] = {0};

    make(Q, q, q_count * 2, ACL_FLOAT16, 3, T, N, D, 0);
    make(ORI, ori, ori_count * 2, ACL_FLOAT16, 4, B * ORI_BLOCKS, BLOCK, 1, D);
    make(CMP, cmp, cmp_count * 2, ACL_FLOAT16, 4, B * CMP_BLOCKS, BLOCK, 1, D);
    make(INDICES, indices, sizeof indices, ACL_INT32, 3, T, 1, K, 0);
    make(ORI_TABLE, ori_table, sizeof ori_table, ACL_INT32, 2, B, ORI_BLOCKS, 0, 0);
    make(CMP_TABLE, cmp_table, sizeof cmp_table, ACL_INT32, 2, B, CMP_BLOCKS, 0, 0);
    make(CU_Q, cu_q, sizeof cu_q, ACL_INT32, 1, B + 1, 0, 0, 0);
    make(USED_ORI, used_ori, sizeof used_ori, ACL_INT32, 1, B, 0, 0, 0);
    make(USED_CMP, used_cmp, sizeof used_cmp, ACL_INT32, 1, B, 0, 0, 0);
    make(RESIDUAL, residual, sizeof residual, ACL_INT32, 1, B, 0, 0, 0);
    make(SINKS, sinks, sizeof sinks, ACL_FLOAT, 1, N, 0, 0, 0);
    make(METADATA, NULL, 1024 * 4, ACL_INT32, 1, 1024, 0, 0, 0);
    make(OUT, NULL, q_count * 2, ACL_FLOAT16, 3, T, N, D, 0);
    make(LSE, NULL, (size_t)T * N * 4, ACL_FLOAT, 3, 1, T, N, 0);

    uint64_t size = 1;
    aclOpExecutor *executor = NULL;
    CHECK(aclnnSparseFlashMlaMetadataGetWorkspaceSize(
              tensors[CU_Q], NULL, NULL, NULL, tensors[USED_ORI], tensors[USED_CMP], tensors[RESIDUAL], NULL, NULL, N,
              1, D, B, S1, S2, S3, 0, K, RATIO, 4, 3, WINDOW - 1, 0, "TND", "PA_BBND", true, true, tensors[METADATA],
              &size, &executor) == 0);
    CHECK(size == 0);
    CHECK_OK(aclnnSparseFlashMlaMetadata(NULL, size, executor, stream));

    char paged[] = "PA_BBND";
    CHECK(phase_one(tensors[METADATA], paged, &size, &executor) == 0);
    void *workspace = size > 0 ? device_memory(size) : NULL;
    CHECK_OK(aclnnSparseFlashMla(workspace, size, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));

    const aclFloat16 *out = memory[OUT];
    const float *lse = memory[LSE];
    double worst = 0.0, worst_lse = 0.0, want[D];
    for (int n = 0; n < 24; ++n) {
        const int b = n % B, i = (n * 37 + 5) % S1, h = n * 29 % N;
        const size_t row = (size_t)(b * S1 + i) * N + (size_t)h;
        const double want_lse = plain_row(q + row * D, ori, cmp, sinks[h], b, i, want);
        for (int d = 0; d < D; ++d) worst = fmax(worst, fabs(aclFloat16ToFloat(out[row * D + (size_t)d]) - want[d]));
        worst_lse = fmax(worst_lse, fabs(lse[row] - want_lse));
    }
    printf("largest error %.2e, of LSE %.2e\n", worst, worst_lse);
    CHECK(worst < 2e-4);
    CHECK(worst_lse < 1e-4);

    size_t needed = 0;
    static char text[16384];
    CHECK_OK(aclAttnDescribeMetadata(memory[METADATA], text, sizeof text, &needed));
    CHECK(needed > 1 && needed <= sizeof text);
    CHECK(strstr(text, "numHeadsQ 64") != NULL && strstr(text, "core 0:") != NULL);
    CHECK_FAILS(aclAttnDescribeMetadata(NULL, text, sizeof text, &needed), 161001, "metadata: expected ");

    /* A refused call: a status, a sentence that names the parameter, and nothing changed. */
    executor = NULL;
    CHECK_FAILS(phase_one(NULL, paged, &size, &executor), 161002, "metadata: expected ");
    char packed[] = "TND";
    CHECK_FAILS(phase_one(tensors[METADATA], packed, &size, &executor), 161002, "oriKv: expected ");
    CHECK(executor == NULL);

    /* What device memory holds is found out when the call runs: metadata of other lengths. */
    const int32_t shorter = S2 - 1;
    CHECK_OK(aclrtMemcpy(memory[USED_ORI], 4, &shorter, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(phase_one(tensors[METADATA], paged, &size, &executor) == 0);
    CHECK_OK(aclnnSparseFlashMla(workspace, size, executor, stream));
    CHECK_FAILS(aclrtSynchronizeStream(stream), 161002,
                "8191 original tokens in sequence 0, got that of another: 8192");

    for (int i = 0; i < COUNT; ++i) {
        CHECK_OK(aclDestroyTensor(tensors[i]));
        CHECK_OK(aclrtFree(memory[i]));
    }
    if (workspace != NULL) CHECK_OK(aclrtFree(workspace));
    free(q), free(ori), free(cmp);
    CHECK_OK(aclrtDestroyStream(stream));
    for (int kind = 0; kind < ACL_ATTN_OBJECT_KIND_COUNT; ++kind) {
        CHECK_OK(aclAttnGetLiveObjects((aclAttnObjectKind)kind));
    }
    CHECK_OK(aclAttnGetLiveBytes());
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_result();
}
