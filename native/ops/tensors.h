// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// Questions that rules of all operators ask about tensors.
#pragma once

#include <cstdint>
#include <string>

#include "meta/objects.h"

namespace acl_attn::ops {

std::string dims_text(const int64_t* dims, int rank);          // "(2, 8, 64)"
std::string shape_text(const meta::Tensor& tensor);            // the same of a tensor's shape
std::string strides_text(const meta::Tensor& tensor);
int64_t last_axis(const meta::Tensor& tensor);                 // its extent; 1 without axes
bool has_shape(const meta::Tensor& tensor, const int64_t* dims, int rank);

// The bytes that a tensor's elements occupy, first to one past the last, relative to its data address.
struct ByteSpan {
    bool representable = true;  // false: index arithmetic could leave 62 bits (an empty axis hides no other)
    int64_t begin = 0;
    int64_t end = 0;
};
ByteSpan byte_span(const meta::Tensor& tensor);

// Whether two tensors at these addresses have a byte in common.
bool overlap(const ByteSpan& a, const void* data_a, const ByteSpan& b, const void* data_b);

}  // namespace acl_attn::ops
