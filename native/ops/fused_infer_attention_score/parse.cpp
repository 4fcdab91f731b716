// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/fused_infer_attention_score/call.h"
#include "ops/saturating.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace acl_attn::ops::fia {
namespace {

bool is_int32(const TensorRef& tensor) { return tensor != nullptr && tensor->dtype == ACL_INT32; }

// The same memory as INT4. Offsets that would overflow stay as they are: they are refused as INT4 tensors all the same.
TensorRef as_int4(const TensorRef& packed) {
    constexpr int64_t in_one = 8;
    auto tensor = std::make_shared<meta::Tensor>(*packed);
    tensor->dtype = ACL_INT4;
    const auto widen = [&](int64_t& n) { n = saturating_product(n, in_one); };
    widen(tensor->offset);
    for (int axis = 0; axis < tensor->rank; ++axis) {
        if (axis + 1 < tensor->rank || tensor->stride[axis] != 1) widen(tensor->stride[axis]);
    }
    if (tensor->rank > 0) widen(tensor->shape[tensor->rank - 1]);
    if (!tensor->storage_shape.empty()) widen(tensor->storage_shape.back());
    return tensor;
}

void relabel_int4(Call& call) {
    ListArg* const lists[] = {&call.key, &call.value};
    const auto begins_packed = [](const ListArg* arg) {
        return arg->list != nullptr && !arg->list->tensors.empty() && is_int32(arg->list->tensors.front());
    };
    if (std::all_of(std::begin(lists), std::end(lists), begins_packed)) {
        for (ListArg* arg : lists) {
            auto list = std::make_shared<meta::TensorList>(*arg->list);
            for (TensorRef& tensor : list->tensors) {
                if (is_int32(tensor)) tensor = as_int4(tensor);
            }
            arg->list = std::move(list);
        }
    }
    TensorRef& key_prefix = call.tensors[kKeySharedPrefix].tensor;
    TensorRef& value_prefix = call.tensors[kValueSharedPrefix].tensor;
    if (is_int32(key_prefix) && is_int32(value_prefix)) {
        key_prefix = as_int4(key_prefix);
        value_prefix = as_int4(value_prefix);
    }
}

// Entry `index` of the outermost axis.
TensorRef half_of(const meta::Tensor& both, int64_t index) {
    auto half = std::make_shared<meta::Tensor>(both);
    half->offset += index * both.stride[0];
    half->rank = std::max(both.rank - 1, 1);
    half->shape[0] = 1;  // of a tensor of two numbers
    for (int axis = 1; axis < both.rank; ++axis) {
        half->shape[axis - 1] = both.shape[axis];
        half->stride[axis - 1] = both.stride[axis];
    }
    return half;
}

// What does not have two halves is left where it is, for the rules to refuse.
void split_merged(Call& call) {
    const TensorRef& scale = call.tensors[kAntiquantScale].tensor;
    const auto has_halves = [](const TensorRef& t) { return t->rank >= 1 && t->shape[0] == 2 && !t->is_empty(); };
    if (call.version >= 5 || scale == nullptr || !has_halves(scale)) return;
    if (given(call, kKeyAntiquantScale) != nullptr || given(call, kValueAntiquantScale) != nullptr) return;
    const auto split = [&](Input both, Input key, Input value) {
        const TensorRef tensor = std::move(call.tensors[both].tensor);
        call.tensors[both] = {};
        call.tensors[key] = {nullptr, half_of(*tensor, 0), true};
        call.tensors[value] = {nullptr, half_of(*tensor, 1), true};
    };
    const TensorRef& offset = call.tensors[kAntiquantOffset].tensor;
    if (offset != nullptr && !offset->is_empty()) {
        if (!has_halves(offset)) return;
        split(kAntiquantOffset, kKeyAntiquantOffset, kValueAntiquantOffset);
    }
    split(kAntiquantScale, kKeyAntiquantScale, kValueAntiquantScale);
    call.key_antiquant_mode = call.value_antiquant_mode = call.antiquant_mode;
    call.antiquant_mode = 0;
}

}  // namespace

const char* api_name(int version) {
    constexpr const char* names[] = {"aclnnFusedInferAttentionScore", "aclnnFusedInferAttentionScoreV2",
                                     "aclnnFusedInferAttentionScoreV3", "aclnnFusedInferAttentionScoreV4",
                                     "aclnnFusedInferAttentionScoreV5"};
    return names[version - 1];
}

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
    relabel_int4(call);
    split_merged(call);
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
