// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "meta/objects.h"

namespace acl_attn::ops {

// A tensor's first element lies `offset` bytes behind the address that the tensor was given.
struct Place {
    bool present = false;
    bool empty = true;
    int64_t offset = 0;

    bool takes(const void* address) const { return present && (empty || address != nullptr); }
    void* at(void* address) const { return address == nullptr ? nullptr : static_cast<char*>(address) + offset; }
};

inline Place place_of(const meta::Tensor* tensor) {
    if (tensor == nullptr) return {};
    return {true, tensor->is_empty(), tensor->offset * meta::dtype_bits(tensor->dtype) / 8};
}

}  // namespace acl_attn::ops
