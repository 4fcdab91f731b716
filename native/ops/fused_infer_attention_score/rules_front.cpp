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
    for (const auto& [name, arg] : lists(c)) {
        for (size_t i = 0; i < arg.list->tensors.size(); ++i) {
            if (Finding f = format_of(text(name, "[", i, "]"), arg.list->tensors[i].get())) return f;
        }
    }
    for (size_t i = 0; i < kInputCount; ++i) {
        if (Finding f = format_of(kInputNames[i], given(c, static_cast<Input>(i)))) return f;
    }
    for (size_t i = 0; i < kOutputCount; ++i) {
        if (Finding f = format_of(kOutputNames[i], c.outputs[i].tensor.get())) return f;
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
};

}  // namespace

Finding front_findings(const Call& call) {
    for (const FrontRule& rule : kFrontRules) {
        if (Finding finding = rule.check(call)) return named(std::move(finding), rule.id);
    }
    return {};
}

}  // namespace acl_attn::ops::fia
