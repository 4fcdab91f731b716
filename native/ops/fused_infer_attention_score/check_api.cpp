// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Reports: what is wrong with a call, without preparing it.
#include <memory>
#include <utility>
#include <vector>

#include "acl_attn/rules.h"
#include "meta/api.h"
#include "ops/check_options.h"
#include "ops/fused_infer_attention_score/entry.h"
#include "ops/report_handle.h"

using namespace acl_attn;
using namespace acl_attn::ops::fia;

namespace {

aclnnStatus check_version(const aclAttnCheckOptions* options) {
    if (options == nullptr || (options->version >= 1 && options->version <= 5)) return ACLNN_SUCCESS;
    return fail(ACLNN_ERR_PARAM_INVALID, text("options->version: expected 1 to 5, got ", options->version));
}

}  // namespace

extern "C" {

aclnnStatus aclAttnCheckFusedInferAttentionScore(
    const aclTensor* query, const aclTensorList* key, const aclTensorList* value, const aclTensor* pseShiftOptional,
    const aclTensor* attenMaskOptional, const aclIntArray* actualSeqLengthsOptional,
    const aclIntArray* actualSeqLengthsKvOptional, const aclTensor* deqScale1Optional,
    const aclTensor* quantScale1Optional, const aclTensor* deqScale2Optional, const aclTensor* quantScale2Optional,
    const aclTensor* quantOffset2Optional, const aclTensor* antiquantScaleOptional,
    const aclTensor* antiquantOffsetOptional, const aclTensor* blockTableOptional,
    const aclTensor* queryPaddingSizeOptional, const aclTensor* kvPaddingSizeOptional,
    const aclTensor* keyAntiquantScaleOptional, const aclTensor* keyAntiquantOffsetOptional,
    const aclTensor* valueAntiquantScaleOptional, const aclTensor* valueAntiquantOffsetOptional,
    const aclTensor* keySharedPrefixOptional, const aclTensor* valueSharedPrefixOptional,
    const aclIntArray* actualSharedPrefixLenOptional, const aclTensor* queryRopeOptional,
    const aclTensor* keyRopeOptional, const aclTensor* keyRopeAntiquantScaleOptional,
    const aclTensor* dequantScaleQueryOptional, const aclTensor* learnableSinkOptional,
    const aclIntArray* qStartIdxOptional, const aclIntArray* kvStartIdxOptional, int64_t numHeads, double scaleValue,
    int64_t preTokens, int64_t nextTokens, char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
    int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t keyAntiquantMode,
    int64_t valueAntiquantMode, int64_t queryQuantMode, int64_t pseType, const aclTensor* attentionOut,
    const aclTensor* softmaxLse, const aclAttnCheckOptions* options, aclAttnReport** report) {
    constexpr const char* api = "aclAttnCheckFusedInferAttentionScore";
    return meta::entry(api, [&]() -> aclnnStatus {
        if (report == nullptr) return meta::null_result("report");
        if (const aclnnStatus status = check_version(options)) return status;
        if (const aclnnStatus status = ops::check_options(options)) return status;
        Report found;
        const Entry entry{api, options == nullptr ? 5 : options->version, Wanted::report, options, &found};
        const aclnnStatus status = phase_one(
            entry,
            query, key, value, pseShiftOptional, attenMaskOptional, actualSeqLengthsOptional,
            actualSeqLengthsKvOptional, deqScale1Optional, quantScale1Optional, deqScale2Optional,
            quantScale2Optional, quantOffset2Optional, antiquantScaleOptional, antiquantOffsetOptional,
            blockTableOptional, queryPaddingSizeOptional, kvPaddingSizeOptional,
            keyAntiquantScaleOptional, keyAntiquantOffsetOptional, valueAntiquantScaleOptional,
            valueAntiquantOffsetOptional, keySharedPrefixOptional, valueSharedPrefixOptional,
            actualSharedPrefixLenOptional, queryRopeOptional, keyRopeOptional,
            keyRopeAntiquantScaleOptional, dequantScaleQueryOptional, learnableSinkOptional,
            qStartIdxOptional, kvStartIdxOptional, numHeads, scaleValue, preTokens, nextTokens,
            inputLayout, numKeyValueHeads, sparseMode, innerPrecise, blockSize, antiquantMode,
            softmaxLseFlag, keyAntiquantMode, valueAntiquantMode, queryQuantMode, pseType, attentionOut,
            softmaxLse,
            nullptr, nullptr);
        if (status != ACLNN_SUCCESS) return status;
        auto kept = std::make_shared<ops::KeptReport>(found.accepted_by);
        for (ops::Problem& problem : found.problems) kept->add(std::move(problem));
        *report = ops::publish(std::move(kept));
        return ACLNN_SUCCESS;
    });
}

}  // extern "C"
