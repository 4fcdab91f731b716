// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/call.h"

namespace acl_attn::ops::fia {

const char* const kInputNames[kInputCount] = {
    "query", "key", "value", "pseShift", "attenMask", "actualSeqLengths", "actualSeqLengthsKv", "deqScale1",
    "quantScale1", "deqScale2", "quantScale2", "quantOffset2", "antiquantScale", "antiquantOffset", "blockTable",
    "queryPaddingSize", "kvPaddingSize", "keyAntiquantScale", "keyAntiquantOffset", "valueAntiquantScale",
    "valueAntiquantOffset", "keySharedPrefix", "valueSharedPrefix", "actualSharedPrefixLen", "queryRope", "keyRope",
    "keyRopeAntiquantScale", "dequantScaleQuery", "learnableSink", "qStartIdx", "kvStartIdx",
};
const char* const kOutputNames[kOutputCount] = {"attentionOut", "softmaxLse"};

void resolve(Call& call) {
    for (ListArg* arg : {&call.key, &call.value}) {
        if (arg->handle != nullptr) arg->list = meta::find(arg->handle);
    }
    for (TensorArg& arg : call.tensors) {
        if (arg.handle != nullptr) arg.tensor = meta::find(arg.handle);
    }
    for (IntsArg& arg : call.ints) {
        if (arg.handle != nullptr) arg.values = meta::find(arg.handle);
    }
    for (TensorArg& arg : call.outputs) {
        if (arg.handle != nullptr) arg.tensor = meta::find(arg.handle);
    }
    // Without the flag softmaxLse is not an argument at all: whatever was passed is not looked at again.
    if (!call.softmax_lse_flag) call.outputs[kSoftmaxLse] = {};
}

const meta::Tensor* given(const Call& call, Input input) {
    const meta::Tensor* tensor = call.tensors[input].tensor.get();
    return tensor != nullptr && !tensor->is_empty() ? tensor : nullptr;
}

const std::vector<int64_t>* given_ints(const Call& call, Input input) {
    const std::vector<int64_t>* values = call.ints[input].values.get();
    return values != nullptr && !values->empty() ? values : nullptr;
}

}  // namespace acl_attn::ops::fia
