/* SPDX-FileCopyrightText: The acl_attn authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a C program does with the operator, from nothing but include/ and the library: two phases, a stream, the right
 * numbers, an error with its message, and nothing left behind.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl_attn/acl_attn.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"
#include "check.h"

enum { B = 2, N = 4, NKV = 2, SQ = 3, SKV = 7, D = 16 };
enum { Q_COUNT = B * SQ * N * D, KV_COUNT = B * SKV * NKV * D, LSE_COUNT = B * N * SQ };

static float sample(int i) { return (float)((i * 37 + i * i % 11) % 65 - 32) / 32.0f; }

/* Query row i of sequence b sees the keys 0 .. i + kv_len[b] - SQ (sparse mode 3). */
static void plain_attention(const aclFloat16 *q, const aclFloat16 *k, const aclFloat16 *v, const int64_t *kv_len,
                            double scale, double *out, double *lse) {
    for (int b = 0; b < B; ++b) {
        for (int h = 0; h < N; ++h) {
            const int hk = h / (N / NKV);
            for (int i = 0; i < SQ; ++i) {
                const int64_t last = i + kv_len[b] - SQ;
                double sum = 0.0;
                double *row = out + ((b * SQ + i) * N + h) * D;
                for (int d = 0; d < D; ++d) row[d] = 0.0;
                for (int64_t j = 0; j <= last; ++j) {
                    double s = 0.0;
                    for (int d = 0; d < D; ++d) {
                        s += (double)aclFloat16ToFloat(q[((b * SQ + i) * N + h) * D + d]) *
                             aclFloat16ToFloat(k[((b * SKV + j) * NKV + hk) * D + d]);
                    }
                    const double p = exp(s * scale);
                    sum += p;
                    for (int d = 0; d < D; ++d) {
                        row[d] += p * aclFloat16ToFloat(v[((b * SKV + j) * NKV + hk) * D + d]);
                    }
                }
                for (int d = 0; d < D; ++d) row[d] = last < 0 ? 0.0 : row[d] / sum;
                lse[(b * N + h) * SQ + i] = last < 0 ? INFINITY : log(sum);
            }
        }
    }
}

static void fill(aclFloat16 *to, int count, int from) {
    for (int i = 0; i < count; ++i) to[i] = aclFloatToFloat16(sample(i + from));
}

static void *device_copy(const void *host, size_t bytes) {
    void *device = NULL;
    CHECK_OK(aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemcpy(device, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return device;
}

static aclTensor *tensor(const int64_t *dims, uint64_t rank, aclDataType type, void *data) {
    aclTensor *made = aclCreateTensor(dims, rank, type, NULL, 0, ACL_FORMAT_ND, dims, rank, data);
    CHECK(made != NULL);
    return made;
}

static aclnnStatus phase_one(const aclTensor *q, const aclTensorList *k, const aclTensorList *v,
                             const aclTensor *mask, const aclIntArray *kv_lengths, int64_t sparse_mode,
                             const char *layout, const aclTensor *out, const aclTensor *lse, uint64_t *size,
                             aclOpExecutor **executor) {
    char name[16];
    snprintf(name, sizeof name, "%s", layout);
    return aclnnFusedInferAttentionScoreV5GetWorkspaceSize(
        q, k, v, NULL, mask, NULL, kv_lengths, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, N, 0.25, 2147483647, 2147483647, name,
        NKV, sparse_mode, 0, 0, 0, lse != NULL, 0, 0, 0, 0, out, lse, size, executor);
}

int main(void) {
    static aclFloat16 q[Q_COUNT], k[KV_COUNT], v[KV_COUNT], out[Q_COUNT];
    static float lse[LSE_COUNT];
    static double want_out[Q_COUNT], want_lse[LSE_COUNT];
    const int64_t q_dims[] = {B, SQ, N, D}, kv_dims[] = {B, SKV, NKV, D}, lse_dims[] = {B, N, SQ, 1};
    const int64_t mask_dims[] = {2048, 2048};
    const int64_t kv_len[B] = {5, 2}; /* the second sequence's first row sees nothing */
    fill(q, Q_COUNT, 0);
    fill(k, KV_COUNT, 1000);
    fill(v, KV_COUNT, 2000);
    plain_attention(q, k, v, kv_len, 0.25, want_out, want_lse);

    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    aclrtStream stream = NULL;
    CHECK_OK(aclrtCreateStream(&stream));

    void *q_data = device_copy(q, sizeof q), *k_data = device_copy(k, sizeof k), *v_data = device_copy(v, sizeof v);
    void *out_data = device_copy(out, sizeof out), *lse_data = device_copy(lse, sizeof lse), *mask_data = NULL;
    CHECK_OK(aclrtMalloc(&mask_data, 2048 * 2048, ACL_MEM_MALLOC_HUGE_FIRST));

    aclTensor *query = tensor(q_dims, 4, ACL_FLOAT16, q_data);
    const aclTensor *key_members[] = {tensor(kv_dims, 4, ACL_FLOAT16, k_data)};
    const aclTensor *value_members[] = {tensor(kv_dims, 4, ACL_FLOAT16, v_data)};
    aclTensorList *key = aclCreateTensorList(key_members, 1);
    aclTensorList *value = aclCreateTensorList(value_members, 1);
    aclTensor *mask = tensor(mask_dims, 2, ACL_BOOL, mask_data);
    aclIntArray *lengths = aclCreateIntArray(kv_len, B);
    aclTensor *attention_out = tensor(q_dims, 4, ACL_FLOAT16, out_data);
    aclTensor *softmax_lse = tensor(lse_dims, 4, ACL_FLOAT, lse_data);

    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    CHECK(phase_one(query, key, value, mask, lengths, 3, "BSND", attention_out, softmax_lse, &size, &executor) == 0);
    void *workspace = NULL;
    if (size > 0) CHECK_OK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclnnFusedInferAttentionScoreV5(workspace, size, executor, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));

    CHECK_OK(aclrtMemcpy(out, sizeof out, out_data, sizeof out, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK_OK(aclrtMemcpy(lse, sizeof lse, lse_data, sizeof lse, ACL_MEMCPY_DEVICE_TO_HOST));
    double worst = 0.0;
    for (int i = 0; i < Q_COUNT; ++i) worst = fmax(worst, fabs(aclFloat16ToFloat(out[i]) - want_out[i]));
    CHECK(worst < 1e-3);
    for (int i = 0; i < LSE_COUNT; ++i) {
        CHECK(isinf(want_lse[i]) ? isinf(lse[i]) && lse[i] > 0 : fabs(lse[i] - want_lse[i]) < 1e-5);
    }

    /* A refused call: a status, a sentence that names the parameter, and nothing changed. */
    executor = NULL;
    CHECK(phase_one(NULL, key, value, mask, lengths, 3, "BSND", attention_out, NULL, &size, &executor) == 161001);
    const char *message = aclGetRecentErrMsg();
    CHECK(message != NULL && strncmp(message, "query: expected ", 16) == 0);
    CHECK(phase_one(query, key, value, mask, lengths, 3, "BNSD", attention_out, NULL, &size, &executor) == 561002);
    message = aclGetRecentErrMsg();
    CHECK(message != NULL && strncmp(message, "actualSeqLengthsKv[0]: expected ", 32) == 0);
    CHECK(executor == NULL);

    /* An executor that is never run. */
    CHECK(phase_one(query, key, value, mask, lengths, 3, "BSND", attention_out, NULL, &size, &executor) == 0);
    CHECK_OK(aclDestroyAclOpExecutor(executor));

    CHECK_OK(aclDestroyTensor(query));
    CHECK_OK(aclDestroyTensorList(key));
    CHECK_OK(aclDestroyTensorList(value));
    CHECK_OK(aclDestroyTensor(mask));
    CHECK_OK(aclDestroyIntArray(lengths));
    CHECK_OK(aclDestroyTensor(attention_out));
    CHECK_OK(aclDestroyTensor(softmax_lse));
    void *const memory[] = {q_data, k_data, v_data, out_data, lse_data, mask_data, workspace};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; ++i) {
        if (memory[i] != NULL) CHECK_OK(aclrtFree(memory[i]));
    }
    CHECK_OK(aclrtDestroyStream(stream));
    for (int kind = 0; kind < ACL_ATTN_OBJECT_KIND_COUNT; ++kind) {
        CHECK_OK(aclAttnGetLiveObjects((aclAttnObjectKind)kind));
    }
    CHECK_OK(aclAttnGetLiveBytes());
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_result();
}
