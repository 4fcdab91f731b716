// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the rules of all schemes of quantised queries share.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ops/fused_infer_attention_score/rules.h"
#include "ops/fused_infer_attention_score/shorthand.h"

namespace acl_attn::ops::fia {

using ScaleShape = std::vector<int64_t>;

inline bool is_scheme(const Case& c, Quantisation quantisation) {
    return c.quantisation == quantisation && !c.kv_is_empty;
}

// A scheme's name in messages.
inline const char* scheme_name(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::none:
        case Quantisation::anti: return "";
        case Quantisation::per_tensor: return "quantised queries whose modes are 0";
        case Quantisation::mla: return "fully quantised decode MLA";
        case Quantisation::gqa_f8: return "modes 3, 3, 2";
        case Quantisation::mx_f8: return "modes 6, 6, 8";
    }
    return "";
}

inline Finding scales_have_type(const Case& c, std::initializer_list<Input> scales, aclDataType wanted) {
    for (const Input input : scales) {
        const meta::Tensor* scale = c.extra[input];
        if (scale != nullptr && scale->dtype != wanted) {
            return dtype_refused(kInputNames[input], meta::dtype_name(wanted), scale->dtype);
        }
    }
    return {};
}

inline Finding scales_given(const Case& c, std::initializer_list<Input> scales) {
    for (const Input input : scales) {
        if (c.extra[input] == nullptr) {
            return violated(kInputNames[input], text("a scale for ", scheme_name(c.quantisation)), "nothing");
        }
    }
    return {};
}

inline Finding none_of(const Case& c, std::initializer_list<Input> inputs) {
    return first_excluded(c, inputs, scheme_name(c.quantisation));
}

inline Finding scale_has_shape(const Case& c, Input input, std::initializer_list<ScaleShape> wanted) {
    const meta::Tensor* scale = c.extra[input];
    if (scale == nullptr) return {};
    std::string names;
    for (const ScaleShape& shape : wanted) {
        const int rank = static_cast<int>(shape.size());
        if (has_shape(*scale, shape.data(), rank)) return {};
        names += text(names.empty() ? "" : " or ", dims_text(shape.data(), rank));
    }
    return shape_refused(kInputNames[input], names, *scale);
}

// Numbers of heads that the schemes for grouped heads take.
inline Finding heads_in_range(const Case& c, int64_t query_heads, int64_t kv_heads, int64_t group) {
    const char* with = scheme_name(c.quantisation);
    if (c.heads > query_heads) return violated("numHeads", text("1 to ", query_heads, " with ", with), text(c.heads));
    if (c.kv_heads > kv_heads) {
        return violated("numKeyValueHeads", text("1 to ", kv_heads, " with ", with), text(c.kv_heads));
    }
    if (c.heads / c.kv_heads <= group) return {};
    return violated("numHeads", text("at most ", group, " times numKeyValueHeads with ", with),
                    text(c.heads / c.kv_heads, " times"));
}

inline Finding all_types(const Case& c, std::initializer_list<aclDataType> types, const char* names) {
    if (!is_one_of(c.query->dtype, types)) {
        return dtype_refused("query", text(names, " with ", scheme_name(c.quantisation)), c.query->dtype);
    }
    for (const TensorRef& value : *c.value) {
        if (is_one_of(value->dtype, types)) continue;
        return dtype_refused("value", text(names, " with ", scheme_name(c.quantisation)), value->dtype);
    }
    return {};
}

inline Finding out_has_type(const Case& c, std::initializer_list<aclDataType> types, const char* names) {
    if (is_one_of(c.out->dtype, types)) return {};
    return dtype_refused("attentionOut", text(names, " with ", scheme_name(c.quantisation)), c.out->dtype);
}

constexpr Scope kNewestAndHost = and_host(newest_only(kProducts));

}  // namespace acl_attn::ops::fia
