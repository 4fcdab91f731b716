// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// The front layer: pointers, handles, types, before anything is interpreted.
#include <iterator>
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {
namespace {

Finding version_offered(const Case& c) {
    if (c.call.version == 5) return {};
    return violated(api_name(c.call.version), "aclnnFusedInferAttentionScoreV5 on Ascend950", "an older entry point",
                    "call V5, or choose an A2 or A3 product or the host as profile");
}

Finding query_given(const Case& c) {
    return c.call.tensors[kQuery].handle == nullptr ? missing("query", "an aclTensor") : Finding{};
}
Finding key_given(const Case& c) {
    return c.call.key.handle == nullptr ? missing("key", "an aclTensorList") : Finding{};
}
Finding value_given(const Case& c) {
    return c.call.value.handle == nullptr ? missing("value", "an aclTensorList") : Finding{};
}
Finding out_given(const Case& c) {
    return c.call.outputs[kAttentionOut].handle == nullptr ? missing("attentionOut", "an aclTensor") : Finding{};
}
Finding lse_given(const Case& c) {
    if (!c.call.softmax_lse_flag || c.call.outputs[kSoftmaxLse].handle != nullptr) return {};
    return missing("softmaxLse", "an aclTensor, as softmaxLseFlag is true");
}
Finding out_pointers_given(const Case& c) {
    if (!c.call.has_workspace_size) return missing("workspaceSize", "an address for the size");
    if (!c.call.has_executor) return missing("executor", "an address for the executor");
    return {};
}

Finding dead(const char* name, const char* kind) {
    return invalid(name, text("a live ", kind), "a handle that was destroyed or is none");
}

Finding handles_live(const Case& c) {
    const Call& call = c.call;
    for (const auto& [name, arg] : lists(call)) {
        if (arg.handle != nullptr && arg.list == nullptr) return dead(name, "aclTensorList");
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (call.tensors[i].handle != nullptr && call.tensors[i].tensor == nullptr) {
            return dead(kInputNames[i], "aclTensor");
        }
        if (call.ints[i].handle != nullptr && call.ints[i].values == nullptr) {
            return dead(kInputNames[i], "aclIntArray");
        }
    }
    for (size_t i = 0; i < kOutputCount; ++i) {
        if (call.outputs[i].handle != nullptr && call.outputs[i].tensor == nullptr) {
            return dead(kOutputNames[i], "aclTensor");
        }
    }
    return {};
}

Finding list_length(const Case& c) {
    constexpr size_t limit = 256;
    for (const auto& [name, arg] : lists(c.call)) {
        if (arg.list != nullptr && arg.list->tensors.size() > limit) {
            return invalid(name, text("at most ", limit, " tensors"), text(arg.list->tensors.size()));
        }
    }
    return {};
}

// Section by section of the vendor's table of registered kernels: products differ, profile host has them all.
bool is_registered_query(const Case& c, aclDataType query) {
    return is_16bit(query) || query == ACL_INT8 || (!c.is_older() && is_float8(query));
}
bool is_registered_pair(const Case& c, aclDataType query, aclDataType kv) {
    if (query == kv) return true;
    if (!is_16bit(query)) return false;
    if (is_one_of(kv, {ACL_INT8, ACL_INT4, ACL_INT32})) return true;
    return !c.is_older() && (is_float8(kv) || kv == ACL_FLOAT4_E2M1);
}
bool is_registered_out(const Case& c, aclDataType query, aclDataType kv, aclDataType out) {
    if (is_16bit(query)) {
        if (out == query) return true;
        if (c.is_older()) return out == ACL_INT8 && kv != ACL_INT4 && kv != ACL_INT32;
        return is_post_quant_type(out);
    }
    if (query != ACL_INT8) return is_16bit(out);
    if (c.profile == Profile::ascend950 && c.is_newest()) return out == ACL_BF16;
    return is_16bit(out) || out == ACL_INT8;
}

// Null: the types have a kernel.
Finding unregistered(const Case& c) {
    const aclDataType query = c.query->dtype;
    if (!is_registered_query(c, query)) {
        return invalid("query", "dtype FLOAT16 or BF16", meta::dtype_name(query), "cast it to one of them");
    }
    const aclDataType first_key = c.key->front()->dtype;
    for (const auto& [name, arg] : lists(c.call)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const aclDataType dtype = arg.list->tensors[i]->dtype;
            if (is_registered_pair(c, query, dtype) && dtype == first_key) continue;
            const aclDataType wanted = is_registered_pair(c, query, first_key) ? first_key : query;
            return invalid(text(name, "[", i, "]"), text("dtype ", meta::dtype_name(wanted)), meta::dtype_name(dtype),
                           "query, key and value share one dtype");
        }
    }
    const aclDataType out = c.out->dtype;
    if (!is_registered_out(c, query, first_key, out)) {
        return invalid("attentionOut", text("dtype ", meta::dtype_name(is_16bit(query) ? query : ACL_BF16)),
                       meta::dtype_name(out));
    }
    const meta::Tensor* pse = c.extra[kPseShift];
    if (pse != nullptr && !is_16bit(pse->dtype) && pse->dtype != ACL_FLOAT) {
        return invalid("pseShift", "dtype FLOAT16, BF16 or FLOAT", meta::dtype_name(pse->dtype));
    }
    if (c.mask != nullptr && !is_one_of(c.mask->dtype, {ACL_BOOL, ACL_INT8, ACL_UINT8, ACL_FLOAT16})) {
        return invalid("attenMask", "dtype BOOL, INT8 or UINT8", meta::dtype_name(c.mask->dtype));
    }
    return {};
}

// The optional inputs; the front layer looks for their types in the same table, but has another code for them.
Finding optional_types(const Case& c) {
    struct Types {
        Input input;
        const char* names;
        std::initializer_list<aclDataType> allowed;
    };
    static const Types kTypes[] = {
        {kDeqScale1, "FLOAT or UINT64", {ACL_FLOAT, ACL_UINT64}},
        {kQuantScale1, "FLOAT", {ACL_FLOAT}},
        {kDeqScale2, "FLOAT or UINT64", {ACL_FLOAT, ACL_UINT64}},
        {kKeyAntiquantScale, "FLOAT16, BF16, FLOAT or FLOAT8_E8M0",
         {ACL_FLOAT16, ACL_BF16, ACL_FLOAT, ACL_FLOAT8_E8M0}},
        {kValueAntiquantScale, "FLOAT16, BF16, FLOAT or FLOAT8_E8M0",
         {ACL_FLOAT16, ACL_BF16, ACL_FLOAT, ACL_FLOAT8_E8M0}},
        {kDequantScaleQuery, "FLOAT or FLOAT8_E8M0", {ACL_FLOAT, ACL_FLOAT8_E8M0}},
        {kLearnableSink, "FLOAT16 or BF16", {ACL_FLOAT16, ACL_BF16}},
    };
    for (const Types& types : kTypes) {
        const meta::Tensor* tensor = c.extra[types.input];
        if (tensor == nullptr || is_one_of(tensor->dtype, types.allowed)) continue;
        return dtype_refused(kInputNames[types.input], types.names, tensor->dtype);
    }
    return {};
}

constexpr Rule<Case> kRules[] = {
    {"API-S-03", Tier::front, version_offered, kAscend950, "",
     "Ascend950 has the fifth entry point only; A2 and A3 products have the first four, and newer software also the "
     "fifth", Known::nothing, ACLNN_ERR_RUNTIME_ERROR},
    {"API-E-01", Tier::front, query_given, kEverywhere, "query", "query is not a null pointer", Known::nothing,
     ACLNN_ERR_PARAM_NULLPTR},
    {"API-E-02", Tier::front, key_given, kEverywhere, "key", "key is not a null pointer", Known::nothing,
     ACLNN_ERR_PARAM_NULLPTR},
    {"API-E-03", Tier::front, value_given, kEverywhere, "value", "value is not a null pointer", Known::nothing,
     ACLNN_ERR_PARAM_NULLPTR},
    {"API-E-04", Tier::front, out_given, kEverywhere, "attentionOut", "attentionOut is not a null pointer",
     Known::nothing, ACLNN_ERR_PARAM_NULLPTR},
    {"API-E-05", Tier::front, lse_given, kEverywhere, "softmaxLse",
     "with softmaxLseFlag, softmaxLse is not a null pointer", Known::nothing, ACLNN_ERR_PARAM_NULLPTR},
    {"API-E-06", Tier::front, out_pointers_given, kEverywhere, "workspaceSize, executor",
     "phase one has somewhere to write its two results", Known::nothing, ACLNN_ERR_PARAM_NULLPTR},
    {"HOST-E-01", Tier::front, handles_live, kEverywhere, "", "every handle is a live object of its kind",
     Known::nothing, ACLNN_ERR_PARAM_INVALID},
    {"API-S-02", Tier::front, list_length, kEverywhere, "key, value", "a list has at most 256 tensors",
     Known::nothing, ACLNN_ERR_PARAM_INVALID},
    {"API-S-01", Tier::front, unregistered, kEverywhere, "query, key, value, pseShift, attenMask, attentionOut",
     "the types are a combination for which some kernel is registered", Known::tensors, ACLNN_ERR_PARAM_INVALID},
    {"HOST-S-05", Tier::consistency, optional_types, kEverywhere,
     "deqScale1, quantScale1, deqScale2, keyAntiquantScale, valueAntiquantScale, dequantScaleQuery, learnableSink",
     "optional tensors have one of the types that their parameter is registered with", Known::tensors,
     ACLNN_ERR_INNER_FIND_KERNEL_ERROR},
};

}  // namespace

bool types_registered(const Case& subject) { return !unregistered(subject); }

bool is_plain_type_mistake(const Case& subject) {
    const aclDataType query = subject.query->dtype;
    const aclDataType key = subject.key->front()->dtype;
    return !is_registered_query(subject, query) || (is_16bit(key) && key != query) || key == ACL_FLOAT;
}

const Group<Case> kFrontRules{kRules, std::size(kRules)};

}  // namespace acl_attn::ops::fia
