// SPDX-FileCopyrightText: The acl_attn authors
// SPDX-License-Identifier: Apache-2.0
#include "meta/objects.h"

#include <limits>

#include "meta/lists.h"
#include "runtime/elements.h"
#include "runtime/handles.h"

namespace acl_attn::meta {

using runtime::Kind;

int64_t Tensor::numel() const {
    int64_t count = 1;
    for (int axis = 0; axis < rank; ++axis) {
        if (shape[axis] == 0) return 0;  // also where the other extents would overflow
    }
    for (int axis = 0; axis < rank; ++axis) {
        if (__builtin_mul_overflow(count, shape[axis], &count)) return std::numeric_limits<int64_t>::max();
    }
    return count;
}

bool Tensor::is_dense_from(int first) const {
    int64_t dense = 1;
    for (int axis = rank - 1; axis >= first; --axis) {
        if (shape[axis] == 0) return true;
        if (shape[axis] > 1 && stride[axis] != dense) return false;
        if (__builtin_mul_overflow(dense, shape[axis], &dense)) return false;
    }
    return true;
}

std::shared_ptr<const Tensor> find(const aclTensor* handle) noexcept {
    return runtime::find<const Tensor>(Kind::tensor, handle);
}

std::shared_ptr<const std::vector<int64_t>> find(const aclIntArray* handle) noexcept {
    return runtime::find<const std::vector<int64_t>>(Kind::int_array, handle);
}

std::shared_ptr<const TensorList> find(const aclTensorList* handle) noexcept {
    const auto members = runtime::find<const Members>(Kind::tensor_list, handle);
    if (members == nullptr) return nullptr;
    try {
        auto list = std::make_shared<TensorList>();
        list->tensors.reserve(members->handles.size());
        for (const void* member : members->handles) {
            auto tensor = runtime::find<const Tensor>(Kind::tensor, member);
            if (tensor == nullptr) return nullptr;  // another thread is destroying the list
            list->tensors.push_back(std::move(tensor));
        }
        return list;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::string describe(const void* handle) { return runtime::describe_handle(handle); }

int dtype_bits(aclDataType dtype) noexcept { return element_bits(dtype); }
const char* dtype_name(aclDataType dtype) noexcept { return element_name(dtype); }

}  // namespace acl_attn::meta
