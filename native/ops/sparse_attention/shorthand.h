// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Questions that rules of the sparse operators share. `C` is Case or MetadataCase.
#pragma once

#include <initializer_list>
#include <string>

#include "ops/finding.h"
#include "ops/rule.h"
#include "ops/sparse_attention/case.h"
#include "ops/tensors.h"

namespace acl_attn::ops::sparse {

template <class T>
bool is_one_of(const T& value, std::initializer_list<T> values) {
    for (const T& v : values) {
        if (value == v) return true;
    }
    return false;
}

// A rule of the front layer: a pointer must not be null.
template <class C>
constexpr Rule<C> required(const char* id, Finding (*check)(const C&), const char* parameter,
                           const char* text = "required", aclnnStatus status = ACLNN_ERR_PARAM_NULLPTR) {
    return {id, Tier::front, check, kEverywhere, parameter, text, Known::dims, status};
}

inline bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

inline Finding wrong_shape(const char* name, const std::string& expected, const meta::Tensor& got,
                           const std::string& fix = {}) {
    return invalid(name, text("shape ", expected), shape_text(got), fix);
}

inline Finding dtype_is(const char* name, const meta::Tensor* tensor, aclDataType wanted) {
    if (tensor == nullptr || tensor->dtype == wanted) return {};
    return invalid(name, text("dtype ", meta::dtype_name(wanted)), meta::dtype_name(tensor->dtype));
}

// An optional INT32 tensor of one axis.
template <class C>
Finding is_int_vector(const C& c, Input input) {
    const meta::Tensor* tensor = c.in[input];
    if (Finding finding = dtype_is(c.name(input), tensor, ACL_INT32)) return finding;
    if (tensor == nullptr || tensor->rank == 1) return {};
    return wrong_shape(c.name(input), "with one axis", *tensor);
}

template <class C>
Finding are_int_vectors(const C& c, std::initializer_list<Input> inputs) {
    for (const Input input : inputs) {
        if (Finding finding = is_int_vector(c, input)) return finding;
    }
    return {};
}

// An INT32 tensor of one list, or one number, a query row: `last` is the innermost axis in words.
template <class C>
Finding is_row_table(const C& c, Input input, bool has_heads, const char* last) {
    const meta::Tensor* tensor = c.in[input];
    if (Finding finding = dtype_is(c.name(input), tensor, ACL_INT32)) return finding;
    if (c.layout_q == Layout::unknown) return {};
    const int rank = (c.is_packed_q() ? 2 : 3) + (has_heads ? 1 : 0);
    if (tensor == nullptr || tensor->rank == rank) return {};
    return wrong_shape(c.name(input), text(c.is_packed_q() ? "(T, " : "(B, S, ", has_heads ? "1, " : "", last, ")"),
                       *tensor);
}

template <class C>
Finding is_required(const C& c, Input input, const char* when, const char* fix = "") {
    if (c.in[input] != nullptr) return {};
    return invalid(c.name(input), text("a tensor", *when != '\0' ? " " : "", when), "none", fix);
}

template <class C>
Finding is_excluded(const C& c, Input input, const char* when, const char* fix = "") {
    if (c.in[input] == nullptr) return {};
    return invalid(c.name(input), text("none ", when), text("a tensor of shape ", shape_text(*c.in[input])), fix);
}

template <class C>
Finding are_excluded(const C& c, std::initializer_list<Input> inputs, const char* when) {
    for (const Input input : inputs) {
        if (Finding finding = is_excluded(c, input, when)) return finding;
    }
    return {};
}

template <class C>
Finding has_length(const C& c, Input input, int64_t length, const char* meaning) {
    const meta::Tensor* tensor = c.in[input];
    if (tensor == nullptr || tensor->numel() == length) return {};
    return wrong_shape(c.name(input), text("(", length, "), ", meaning), *tensor);
}

}  // namespace acl_attn::ops::sparse
