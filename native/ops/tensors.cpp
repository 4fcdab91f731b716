// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors.h"

namespace acl_attn::ops {

std::string dims_text(const int64_t* dims, int rank) {
    std::string out = "(";
    for (int axis = 0; axis < rank; ++axis) {
        if (axis > 0) out += ", ";
        out += std::to_string(dims[axis]);
    }
    return out + ")";
}

std::string shape_text(const meta::Tensor& tensor) { return dims_text(tensor.shape, tensor.rank); }

std::string strides_text(const meta::Tensor& tensor) { return dims_text(tensor.stride, tensor.rank); }

int64_t last_axis(const meta::Tensor& tensor) { return tensor.rank == 0 ? 1 : tensor.shape[tensor.rank - 1]; }

bool has_shape(const meta::Tensor& tensor, const int64_t* dims, int rank) {
    if (tensor.rank != rank) return false;
    for (int axis = 0; axis < rank; ++axis) {
        if (tensor.shape[axis] != dims[axis]) return false;
    }
    return true;
}

ByteSpan byte_span(const meta::Tensor& tensor) {
    const int64_t bits = meta::dtype_bits(tensor.dtype);
    const int64_t limit = INT64_MAX / 2 / (bits > 0 ? bits : 1);
    int64_t low = tensor.offset;
    int64_t high = tensor.offset;
    int64_t elements = 1;
    for (int axis = 0; axis < tensor.rank; ++axis) {
        const int64_t extent = tensor.shape[axis] > 1 ? tensor.shape[axis] : 1;
        int64_t reach = 0;
        int64_t& end = tensor.stride[axis] < 0 ? low : high;
        if (__builtin_mul_overflow(extent - 1, tensor.stride[axis], &reach) ||
            __builtin_add_overflow(end, reach, &end) || __builtin_mul_overflow(elements, extent, &elements)) {
            return {false, 0, 0};
        }
    }
    if (low < -limit || high >= limit || elements > limit) return {false, 0, 0};
    if (tensor.is_empty()) return {};
    return {true, low * bits / 8, ((high + 1) * bits + 7) / 8};
}

bool overlap(const ByteSpan& a, const void* data_a, const ByteSpan& b, const void* data_b) {
    const intptr_t at_a = reinterpret_cast<intptr_t>(data_a);
    const intptr_t at_b = reinterpret_cast<intptr_t>(data_b);
    return a.begin < a.end && b.begin < b.end && at_a + a.begin < at_b + b.end && at_b + b.begin < at_a + a.end;
}

}  // namespace acl_attn::ops
