// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Fused attention through the two-phase interface: causal prefill of one sequence, 4 query heads sharing 2 key/value
// heads. Nothing in it is particular to acl_attn: the same file builds against CANN.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"

namespace {

constexpr int64_t kTokens = 48, kHeads = 4, kKvHeads = 2, kHeadDim = 64;
constexpr int64_t kMaskSide = 2048;  // sparse mode 3 wants a mask of this size whatever the lengths are
constexpr double kScale = 0.125;     // 1 / sqrt(kHeadDim); the operator's own default would be 1

void check(int status, const char* what) {
    if (status == 0) return;
    const char* detail = aclGetRecentErrMsg();
    std::fprintf(stderr, "%s: status %d: %s\n", what, status, detail ? detail : "no message");
    std::exit(1);
}
#define CHECK(call) check((call), #call)

// Device memory and the tensor that describes it.
struct DeviceTensor {
    void* data = nullptr;
    aclTensor* tensor = nullptr;
};

template <class T>
DeviceTensor upload(const std::vector<T>& values, const std::vector<int64_t>& shape, aclDataType dtype) {
    DeviceTensor result;
    const size_t bytes = values.size() * sizeof(T);
    CHECK(aclrtMalloc(&result.data, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(result.data, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    result.tensor = aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, aclFormat::ACL_FORMAT_ND,
                                    shape.data(), shape.size(), result.data);
    if (result.tensor == nullptr) check(-1, "aclCreateTensor");
    return result;
}

std::vector<aclFloat16> random_halves(size_t count, uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<aclFloat16> values(count);
    for (auto& value : values) value = aclFloatToFloat16(normal(generator));
    return values;
}

// The definition, in double: (tokens, heads, head_dim), row i sees columns 0 .. i.
std::vector<double> expected_output(const std::vector<aclFloat16>& query, const std::vector<aclFloat16>& key,
                                    const std::vector<aclFloat16>& value) {
    std::vector<double> out(kTokens * kHeads * kHeadDim, 0.0);
    for (int64_t i = 0; i < kTokens; ++i) {
        for (int64_t h = 0; h < kHeads; ++h) {
            const aclFloat16* q = &query[(i * kHeads + h) * kHeadDim];
            double* o = &out[(i * kHeads + h) * kHeadDim];
            double sum = 0.0;
            for (int64_t j = 0; j <= i; ++j) {
                const int64_t row = (j * kKvHeads + h / (kHeads / kKvHeads)) * kHeadDim;
                double score = 0.0;
                for (int64_t d = 0; d < kHeadDim; ++d) {
                    score += static_cast<double>(aclFloat16ToFloat(q[d])) * aclFloat16ToFloat(key[row + d]);
                }
                const double weight = std::exp(score * kScale);
                sum += weight;
                for (int64_t d = 0; d < kHeadDim; ++d) o[d] += weight * aclFloat16ToFloat(value[row + d]);
            }
            for (int64_t d = 0; d < kHeadDim; ++d) o[d] /= sum;
        }
    }
    return out;
}

}  // namespace

int main() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    CHECK(aclrtCreateStream(&stream));

    // Operands, layout BSND: (batch, tokens, heads, head_dim).
    const auto query = random_halves(kTokens * kHeads * kHeadDim, 1);
    const auto key = random_halves(kTokens * kKvHeads * kHeadDim, 2);
    const auto value = random_halves(kTokens * kKvHeads * kHeadDim, 3);
    std::vector<aclFloat16> out(query.size());
    std::vector<uint8_t> mask(kMaskSide * kMaskSide);  // 1 hides: everything above the diagonal
    for (int64_t i = 0; i < kMaskSide; ++i) {
        std::fill(mask.begin() + i * kMaskSide + i + 1, mask.begin() + (i + 1) * kMaskSide, uint8_t{1});
    }
    const auto q = upload(query, {1, kTokens, kHeads, kHeadDim}, ACL_FLOAT16);
    const auto k = upload(key, {1, kTokens, kKvHeads, kHeadDim}, ACL_FLOAT16);
    const auto v = upload(value, {1, kTokens, kKvHeads, kHeadDim}, ACL_FLOAT16);
    const auto o = upload(out, {1, kTokens, kHeads, kHeadDim}, ACL_FLOAT16);
    const auto m = upload(mask, {1, 1, kMaskSide, kMaskSide}, ACL_BOOL);
    aclTensorList* keys = aclCreateTensorList(&k.tensor, 1);  // a list owns its members
    aclTensorList* values = aclCreateTensorList(&v.tensor, 1);
    if (keys == nullptr || values == nullptr) check(-1, "aclCreateTensorList");

    // Phase one: check the call, size the workspace.
    char layout[] = "BSND";
    const int64_t unbounded = INT32_MAX;
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnFusedInferAttentionScoreV5GetWorkspaceSize(
        q.tensor, keys, values,
        nullptr,                                               // pseShift
        m.tensor, nullptr, nullptr,                            // attenMask, actualSeqLengths, actualSeqLengthsKv
        nullptr, nullptr, nullptr, nullptr, nullptr,           // deqScale1 .. quantOffset2
        nullptr, nullptr,                                      // antiquantScale, antiquantOffset
        nullptr, nullptr, nullptr,                             // blockTable, queryPaddingSize, kvPaddingSize
        nullptr, nullptr, nullptr, nullptr,                    // key and value antiquant scales and offsets
        nullptr, nullptr, nullptr,                             // shared prefix
        nullptr, nullptr, nullptr,                             // rope
        nullptr, nullptr, nullptr, nullptr,                    // dequantScaleQuery, learnableSink, start indices
        kHeads, kScale, unbounded, unbounded, layout, kKvHeads,
        3, 0, 0, 0, false,                                     // sparseMode, innerPrecise .. softmaxLseFlag
        0, 0, 0, 0,                                            // quantisation modes, pseType
        o.tensor, nullptr, &workspace_size, &executor));
    void* workspace = nullptr;
    if (workspace_size > 0) CHECK(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST));

    // Phase two: enqueue. It uses up the executor.
    CHECK(aclnnFusedInferAttentionScoreV5(workspace, workspace_size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    const size_t bytes = out.size() * sizeof(aclFloat16);
    CHECK(aclrtMemcpy(out.data(), bytes, o.data, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    const auto expected = expected_output(query, key, value);
    double worst = 0.0;
    for (size_t i = 0; i < out.size(); ++i) {
        const double error = std::fabs(aclFloat16ToFloat(out[i]) - expected[i]);
        worst = error <= worst ? worst : error;  // written so that a NaN is kept
    }

    CHECK(aclDestroyTensorList(keys));
    CHECK(aclDestroyTensorList(values));
    for (const auto* tensor : {q.tensor, o.tensor, m.tensor}) CHECK(aclDestroyTensor(tensor));
    for (void* memory : {q.data, k.data, v.data, o.data, m.data}) CHECK(aclrtFree(memory));
    if (workspace != nullptr) CHECK(aclrtFree(workspace));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());

    const bool good = worst < 4e-3;  // half precision of values up to 4
    std::printf("workspace %llu bytes, worst error %.2e: %s\n", static_cast<unsigned long long>(workspace_size), worst,
                good ? "good" : "BAD");
    return good ? 0 : 1;
}
