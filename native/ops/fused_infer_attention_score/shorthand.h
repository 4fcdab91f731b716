// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Questions and phrases that many rules of this operator share.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>

#include "ops/fused_infer_attention_score/case.h"
#include "ops/tensors.h"

namespace acl_attn::ops::fia {

inline bool is_16bit(aclDataType t) { return t == ACL_FLOAT16 || t == ACL_BF16; }
inline bool is_post_quant_type(aclDataType t) {
    return t == ACL_INT8 || t == ACL_HIFLOAT8 || t == ACL_FLOAT8_E4M3FN;
}
inline bool is_float8(aclDataType t) { return t == ACL_HIFLOAT8 || t == ACL_FLOAT8_E4M3FN; }

template <class T, class U>
bool is_one_of(const T& value, std::initializer_list<U> values) {
    for (const U& v : values) {
        if (value == v) return true;
    }
    return false;
}

inline bool layout_is(const Case& c, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (std::strcmp(c.layout->name, name) == 0) return true;
    }
    return false;
}

inline bool is_power_of_two_to_128(int64_t n) { return n >= 1 && n <= 128 && (n & (n - 1)) == 0; }
// Decode MLA then has any number of query heads up to 128.
inline bool may_have_any_heads(const Case& c) {
    return c.is_plain_quant() && c.is_newest() && c.profile == Profile::ascend950;
}

// "parameter: expected nothing with X, got a tensor of shape (..)": for tensors that a feature excludes.
inline Finding excluded(const Case& c, Input input, const char* with) {
    const meta::Tensor* tensor = c.call.tensors[input].tensor.get();
    return violated(kInputNames[input], text("nothing with ", with),
                    tensor == nullptr ? std::string("a tensor") : text("a tensor of shape ", shape_text(*tensor)));
}
// The first of several that is there.
inline Finding first_excluded(const Case& c, std::initializer_list<Input> inputs, const char* with) {
    for (const Input input : inputs) {
        if (c.extra[input] != nullptr) return excluded(c, input, with);
    }
    return {};
}
// For keys and values that are a list where a feature wants one tensor.
inline Finding no_list(const Case& c, const char* with) {
    return violated("key", text("one tensor with ", with), text(c.key->size(), " tensors"));
}
inline Finding layout_refused(const Case& c, const char* allowed, const char* with) {
    return violated("inputLayout", text(allowed, " with ", with), c.layout->name);
}
inline Finding dtype_refused(const char* name, const std::string& expected, aclDataType got) {
    return violated(name, text("dtype ", expected), meta::dtype_name(got));
}
inline Finding shape_refused(const char* name, const std::string& expected, const meta::Tensor& got) {
    return violated(name, text("shape ", expected), shape_text(got));
}

}  // namespace acl_attn::ops::fia
