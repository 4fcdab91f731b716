// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Phase one of a small decode call, over and over.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_fused_infer_attention_score_v5.h"
#include "bench/bench.h"

namespace {

struct Call {
    // A shape that every profile takes.
    static constexpr int64_t kShape[4] = {1, 1, 1, 128};
    static constexpr int64_t kStrides[4] = {128, 128, 128, 1};
    uint16_t numbers[4][128] = {};
    aclTensor* query = tensor(0);
    aclTensor* out = tensor(3);
    aclTensorList* key = list(1);
    aclTensorList* value = list(2);

    ~Call() {
        aclDestroyTensor(query);
        aclDestroyTensor(out);
        aclDestroyTensorList(key);
        aclDestroyTensorList(value);
    }
    aclTensor* tensor(int which) {
        return aclCreateTensor(kShape, 4, ACL_FLOAT16, kStrides, 0, ACL_FORMAT_ND, kShape, 4, numbers[which]);
    }
    aclTensorList* list(int which) {
        const aclTensor* const members[] = {tensor(which)};
        return aclCreateTensorList(members, 1);
    }
    bool prepare() {
        char layout[] = "BNSD";
        uint64_t size = 0;
        aclOpExecutor* executor = nullptr;
        const aclnnStatus status = aclnnFusedInferAttentionScoreV5GetWorkspaceSize(
            query, key, value, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, 0.088388, INT32_MAX, INT32_MAX, layout, 1, 0, 1, 0,
            0, false, 0, 0, 0, 0, out, nullptr, &size, &executor);
        return status == 0 && aclDestroyAclOpExecutor(executor) == 0;
    }
};

}  // namespace

extern "C" double aclAttnBenchPhaseOne(int rounds) {
    constexpr int kCalls = 50;
    Call call;
    std::vector<double> times;
    for (int round = 0; round <= rounds; round++) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; i++) {
            if (!call.prepare()) return -1;
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (round > 0) times.push_back(took.count() / kCalls);  // the first one warms up
    }
    if (times.empty()) return -1;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}
