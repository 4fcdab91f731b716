// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {
namespace {

Finding query_given(const Call& c) {
    return c.tensors[kQuery].handle == nullptr ? missing("query", "an aclTensor") : Finding{};
}
Finding key_given(const Call& c) {
    return c.key.handle == nullptr ? missing("key", "an aclTensorList") : Finding{};
}
Finding value_given(const Call& c) {
    return c.value.handle == nullptr ? missing("value", "an aclTensorList") : Finding{};
}
Finding out_given(const Call& c) {
    return c.outputs[kAttentionOut].handle == nullptr ? missing("attentionOut", "an aclTensor") : Finding{};
}
Finding lse_given(const Call& c) {
    if (!c.softmax_lse_flag || c.outputs[kSoftmaxLse].handle != nullptr) return {};
    return missing("softmaxLse", "an aclTensor, as softmaxLseFlag is true");
}
Finding out_pointers_given(const Call& c) {
    if (!c.has_workspace_size) return missing("workspaceSize", "an address for the size");
    if (!c.has_executor) return missing("executor", "an address for the executor");
    return {};
}

Finding dead(const char* name, const char* kind) {
    return invalid(name, text("a live ", kind), "a handle that was destroyed or is none");
}

Finding handles_live(const Call& c) {
    for (const auto& [name, arg] : lists(c)) {
        if (arg.list == nullptr) return dead(name, "aclTensorList");
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (c.tensors[i].handle != nullptr && c.tensors[i].tensor == nullptr) return dead(kInputNames[i], "aclTensor");
        if (c.ints[i].handle != nullptr && c.ints[i].values == nullptr) return dead(kInputNames[i], "aclIntArray");
    }
    for (size_t i = 0; i < kOutputCount; ++i) {
        if (c.outputs[i].handle != nullptr && c.outputs[i].tensor == nullptr) return dead(kOutputNames[i], "aclTensor");
    }
    return {};
}

Finding list_length(const Call& c) {
    constexpr size_t limit = 256;
    for (const auto& [name, arg] : lists(c)) {
        if (arg.list->tensors.size() > limit) {
            return invalid(name, text("at most ", limit, " tensors"), text(arg.list->tensors.size()));
        }
    }
    return {};
}

bool is_16bit_float(aclDataType t) { return t == ACL_FLOAT16 || t == ACL_BF16; }
bool is_post_quant(aclDataType t) { return t == ACL_INT8 || t == ACL_HIFLOAT8 || t == ACL_FLOAT8_E4M3FN; }

// The combinations that some product registers: anything else has no kernel anywhere.
bool is_registered_query(aclDataType query) { return is_16bit_float(query) || is_post_quant(query); }
bool is_registered_pair(aclDataType query, aclDataType kv) {
    if (query == kv) return true;
    return is_16bit_float(query) &&
           (is_post_quant(kv) || kv == ACL_INT4 || kv == ACL_INT32 || kv == ACL_FLOAT4_E2M1);
}
bool is_registered_out(aclDataType query, aclDataType out) {
    if (is_16bit_float(query)) return out == query || is_post_quant(out);
    return is_16bit_float(out) || (query == ACL_INT8 && out == ACL_INT8);
}

Finding types_registered(const Call& c) {
    const aclDataType query = c.tensors[kQuery].tensor->dtype;
    if (!is_registered_query(query)) {
        return invalid("query", "dtype FLOAT16 or BF16", meta::dtype_name(query), "cast it to one of them");
    }
    const aclDataType first_key = c.key.list->tensors.empty() ? query : c.key.list->tensors[0]->dtype;
    for (const auto& [name, arg] : lists(c)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            const aclDataType dtype = arg.list->tensors[i]->dtype;
            if (is_registered_pair(query, dtype) && dtype == first_key) continue;
            const aclDataType wanted = is_registered_pair(query, first_key) ? first_key : query;
            return invalid(text(name, "[", i, "]"), text("dtype ", meta::dtype_name(wanted)), meta::dtype_name(dtype),
                           "query, key and value share one dtype");
        }
    }
    const aclDataType out = c.outputs[kAttentionOut].tensor->dtype;
    if (!is_registered_out(query, out)) {
        return invalid("attentionOut", text("dtype ", meta::dtype_name(is_16bit_float(query) ? query : ACL_BF16)),
                       meta::dtype_name(out));
    }
    return {};
}

Finding mask_type(const Call& c) {
    const meta::Tensor* mask = c.tensors[kAttenMask].tensor.get();
    if (mask == nullptr || (mask->is_empty() && mask->data == nullptr)) return {};
    if (mask->dtype == ACL_BOOL || mask->dtype == ACL_INT8 || mask->dtype == ACL_UINT8) return {};
    return invalid("attenMask", "dtype BOOL, INT8 or UINT8 (non-zero hides a key)", meta::dtype_name(mask->dtype),
                   "an additive bias goes to pseShift");
}

bool is_plain_format(aclFormat format) {
    return format == ACL_FORMAT_ND || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NHWC ||
           format == ACL_FORMAT_NCDHW;
}

Finding format_of(const std::string& name, const meta::Tensor* tensor) {
    if (tensor == nullptr || is_plain_format(tensor->format)) return {};
    return invalid(name, "format ND", text("format number ", static_cast<int>(tensor->format)),
                   "a paged cache in the NZ layout is a 5-D tensor of format ND");
}

Finding formats_plain(const Call& c) {
    if (Finding f = format_of("query", c.tensors[kQuery].tensor.get())) return f;
    for (const auto& [name, arg] : lists(c)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            if (Finding f = format_of(text(name, "[", i, "]"), arg.list->tensors[i].get())) return f;
        }
    }
    if (Finding f = format_of("attenMask", given(c, kAttenMask))) return f;
    if (Finding f = format_of("blockTable", given(c, kBlockTable))) return f;
    for (size_t i = 0; i < kOutputCount; ++i) {
        if (Finding f = format_of(kOutputNames[i], c.outputs[i].tensor.get())) return f;
    }
    return {};
}

constexpr const char* kNotYet = "not supported yet by the host target";

Finding quantisation_is_off(const Call& c) {
    const aclDataType query = c.tensors[kQuery].tensor->dtype;
    if (!is_16bit_float(query)) {
        return violated("query", "dtype FLOAT16 or BF16", meta::dtype_name(query),
                        text("full quantisation is ", kNotYet));
    }
    if (!c.key.list->tensors.empty() && c.key.list->tensors[0]->dtype != query) {
        return violated("key", text("query's dtype ", meta::dtype_name(query)),
                        meta::dtype_name(c.key.list->tensors[0]->dtype), text("antiquantisation is ", kNotYet));
    }
    const aclDataType out = c.outputs[kAttentionOut].tensor->dtype;
    if (out != query) {
        return violated("attentionOut", text("query's dtype ", meta::dtype_name(query)), meta::dtype_name(out),
                        text("post-quantisation is ", kNotYet));
    }
    return {};
}

Finding only_core_inputs(const Call& c) {
    for (size_t i = 0; i < kInputCount; ++i) {
        const Input input = static_cast<Input>(i);
        if (input == kQuery || input == kAttenMask || input == kBlockTable || input == kActualSeqLengths ||
            input == kActualSeqLengthsKv) {
            continue;
        }
        if (const meta::Tensor* tensor = given(c, input)) {
            return violated(kInputNames[i], "nothing", text("a tensor of shape ", shape_text(*tensor)), kNotYet);
        }
        if (const std::vector<int64_t>* values = given_ints(c, input)) {
            return violated(kInputNames[i], "nothing", text("an array of ", values->size(), " entries"), kNotYet);
        }
    }
    return {};
}

Finding only_core_attributes(const Call& c) {
    const struct { const char* name; int64_t value; } attributes[] = {
        {"antiquantMode", c.antiquant_mode},
        {"keyAntiquantMode", c.key_antiquant_mode},
        {"valueAntiquantMode", c.value_antiquant_mode},
        {"queryQuantMode", c.query_quant_mode},
        {"pseType", c.pse_type},
    };
    for (const auto& a : attributes) {
        if (a.value != 0) return violated(a.name, "0", text(a.value), text("other values are ", kNotYet));
    }
    return {};
}

struct FrontRule {
    const char* id;
    Finding (*check)(const Call&);
};

constexpr FrontRule kFrontRules[] = {
    {"API-E-01", query_given},
    {"API-E-02", key_given},
    {"API-E-03", value_given},
    {"API-E-04", out_given},
    {"API-E-05", lse_given},
    {"API-E-06", out_pointers_given},
    {"HOST-E-01", handles_live},
    {"API-S-02", list_length},
    {"API-S-01", types_registered},
    {"MASK-S-01", mask_type},
    {"COM-S-05", formats_plain},
    {"HOST-E-02", quantisation_is_off},
    {"HOST-E-03", only_core_inputs},
    {"HOST-E-04", only_core_attributes},
};

}  // namespace

Finding front_findings(const Call& call) {
    for (const FrontRule& rule : kFrontRules) {
        if (Finding finding = rule.check(call)) return named(std::move(finding), rule.id);
    }
    return {};
}

}  // namespace acl_attn::ops::fia
