// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/entry.h"

#include "meta/executor.h"
#include "ops/check_options.h"
#include "ops/fused_infer_attention_score/prepared.h"
#include "ops/fused_infer_attention_score/rules.h"
#include "runtime/last_error.h"

namespace acl_attn::ops::fia {
namespace {

constexpr size_t kInputsOf[] = {kKvPaddingSize + 1, kActualSharedPrefixLen + 1, kKeyRopeAntiquantScale + 1,
                                kLearnableSink + 1, kInputCount};

// A call that passes a product's rules still has to be one that the host target can run.
Finding judge(Case& subject) {
    interpret(subject);
    if (Finding finding = first_finding(subject)) return finding;
    return first_target_finding(subject);
}

aclnnStatus plan(const Entry& entry, const Call& call, uint64_t* workspace_size, aclOpExecutor** executor) {
    if (const char* mistake = wrong_environment()) return acl_attn::fail(ACLNN_ERR_PARAM_INVALID, mistake);
    const Revision revision = current_revision();
    Case subject(call, current_profile(), revision);
    std::unique_ptr<meta::PreparedCall> prepared;
    Finding finding = judge(subject);
    if (!finding) finding = prepare(subject, &prepared);
    if (finding) {
        finding->accepted_by = accepting_profiles(call, revision);
        return ops::fail(std::move(*finding));
    }
    return meta::publish(api_name(entry.version), std::move(prepared), workspace_size, executor);
}

void report(const Entry& entry, Call& call) {
    const aclAttnCheckOptions* options = entry.options;
    call.is_sketch = true;
    call.is_largest = options != nullptr && options->lengthsHaveNoValues;
    call.has_workspace_size = call.has_executor = true;
    *entry.report = make_report(call, chosen_profile(options), chosen_revision(options));
}

}  // namespace

aclnnStatus phase_one(
    const Entry& entry,
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
    const aclTensor* softmaxLse, uint64_t* workspaceSize, aclOpExecutor** executor) noexcept {
    return guarded(entry.api, ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER, [&]() -> aclnnStatus {
        Call call;
        call.key.handle = key;
        call.value.handle = value;
        call.tensors[kQuery].handle = query;
        call.tensors[kPseShift].handle = pseShiftOptional;
        call.tensors[kAttenMask].handle = attenMaskOptional;
        call.tensors[kDeqScale1].handle = deqScale1Optional;
        call.tensors[kQuantScale1].handle = quantScale1Optional;
        call.tensors[kDeqScale2].handle = deqScale2Optional;
        call.tensors[kQuantScale2].handle = quantScale2Optional;
        call.tensors[kQuantOffset2].handle = quantOffset2Optional;
        call.tensors[kAntiquantScale].handle = antiquantScaleOptional;
        call.tensors[kAntiquantOffset].handle = antiquantOffsetOptional;
        call.tensors[kBlockTable].handle = blockTableOptional;
        call.tensors[kQueryPaddingSize].handle = queryPaddingSizeOptional;
        call.tensors[kKvPaddingSize].handle = kvPaddingSizeOptional;
        call.tensors[kKeyAntiquantScale].handle = keyAntiquantScaleOptional;
        call.tensors[kKeyAntiquantOffset].handle = keyAntiquantOffsetOptional;
        call.tensors[kValueAntiquantScale].handle = valueAntiquantScaleOptional;
        call.tensors[kValueAntiquantOffset].handle = valueAntiquantOffsetOptional;
        call.tensors[kKeySharedPrefix].handle = keySharedPrefixOptional;
        call.tensors[kValueSharedPrefix].handle = valueSharedPrefixOptional;
        call.tensors[kQueryRope].handle = queryRopeOptional;
        call.tensors[kKeyRope].handle = keyRopeOptional;
        call.tensors[kKeyRopeAntiquantScale].handle = keyRopeAntiquantScaleOptional;
        call.tensors[kDequantScaleQuery].handle = dequantScaleQueryOptional;
        call.tensors[kLearnableSink].handle = learnableSinkOptional;
        call.ints[kActualSeqLengths].handle = actualSeqLengthsOptional;
        call.ints[kActualSeqLengthsKv].handle = actualSeqLengthsKvOptional;
        call.ints[kActualSharedPrefixLen].handle = actualSharedPrefixLenOptional;
        call.ints[kQStartIdx].handle = qStartIdxOptional;
        call.ints[kKvStartIdx].handle = kvStartIdxOptional;
        call.outputs[kAttentionOut].handle = attentionOut;
        call.outputs[kSoftmaxLse].handle = softmaxLse;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        call.num_heads = numHeads;
        call.scale_value = scaleValue;
        call.pre_tokens = preTokens;
        call.next_tokens = nextTokens;
        call.input_layout = inputLayout;
        call.num_key_value_heads = numKeyValueHeads;
        call.sparse_mode = sparseMode;
        call.inner_precise = innerPrecise;
        call.block_size = blockSize;
        call.antiquant_mode = antiquantMode;
        call.softmax_lse_flag = softmaxLseFlag;
        call.key_antiquant_mode = keyAntiquantMode;
        call.value_antiquant_mode = valueAntiquantMode;
        call.query_quant_mode = queryQuantMode;
        call.pse_type = pseType;
        call.version = entry.version;
        call.inputs = kInputsOf[entry.version - 1];
        call.is_largest = entry.wanted == Wanted::largest_workspace;
        resolve(call);
        if (entry.wanted != Wanted::report) return plan(entry, call, workspaceSize, executor);
        report(entry, call);
        return ACLNN_SUCCESS;
    });
}

}  // namespace acl_attn::ops::fia
