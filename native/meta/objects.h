// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
//
// What the opaque handles of aclnn/acl_meta.h stand for. A handle is a number (slot and generation), not an address:
// looking up a destroyed, foreign or random handle gives null, never a wild read. The reference returned by a look-up
// keeps the object alive even if another thread destroys the handle meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"

namespace acl_attn::meta {

constexpr int kMaxDims = 8;

struct Tensor {
    int rank = 0;
    int64_t shape[kMaxDims] = {};
    int64_t stride[kMaxDims] = {};  // elements; always filled, dense when the caller passed none
    int64_t offset = 0;             // elements from `data` to the first element
    aclDataType dtype = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_ND;
    std::vector<int64_t> storage_shape;
    void* data = nullptr;  // raw address as the caller gave it

    int64_t numel() const;           // product of the shape (1 for rank 0); saturates at INT64_MAX
    bool is_empty() const { return numel() == 0; }
    bool is_dense_from(int axis) const;  // that axis and those behind it lie row-major; ones of extent 1 do not count
    bool is_contiguous() const { return is_empty() || is_dense_from(0); }
};

struct TensorList {
    std::vector<std::shared_ptr<const Tensor>> tensors;
};

// Look-ups. Null for a null, dead or foreign handle; `describe` tells which in a message.
std::shared_ptr<const Tensor> find(const aclTensor* handle) noexcept;
std::shared_ptr<const TensorList> find(const aclTensorList* handle) noexcept;
std::shared_ptr<const std::vector<int64_t>> find(const aclIntArray* handle) noexcept;

// For messages, after "got ": "null", "a destroyed aclTensor", "an aclIntArray", "no handle of this library (0x7f..)".
std::string describe(const void* handle);

// Bits per element: 4 for the packed types, 0 for types without a size.
int dtype_bits(aclDataType dtype) noexcept;
const char* dtype_name(aclDataType dtype) noexcept;  // "FLOAT16", "BF16", ... as the vendor's pages spell them

}  // namespace acl_attn::meta
